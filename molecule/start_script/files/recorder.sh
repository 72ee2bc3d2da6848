#!/bin/sh
# Stands for every launcher: writes down its name, its arguments and its environment.
printf '%s\n' "$(basename "$0") $*" > "$RECORD/words"
env > "$RECORD/env"
