// made: 'try{'.repeat(5000) + '}catch{}'.repeat(5000)
// ends: defined
