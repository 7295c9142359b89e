# Prints the lines that contain `words`, regardless of case.
index(tolower($0), tolower(words)) { print FILENAME ": " $0 }
