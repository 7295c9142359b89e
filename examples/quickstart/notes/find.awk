# Prints the lines that contain `words`, whatever their case.
index(tolower($0), tolower(words)) { print FILENAME ": " $0 }
