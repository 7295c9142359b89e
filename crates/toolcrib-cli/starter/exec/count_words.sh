# Counts the words of a text: the argument comes as a word, the result is JSON on standard output.
#
# Another exit code than 0 fails the call, and the model reads the end of standard error. What goes there before is
# progress.
set -eu
words=$(printf '%s' "$1" | wc -w)
printf '{"words": %d}\n' "$words"
