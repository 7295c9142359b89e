// ends: value 1
return 1; // without a line feed
