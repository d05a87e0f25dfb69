# Completion of guildlog for bash: the command itself tells what may follow.

_guildlog() {
    local IFS=$'\n'

    COMPREPLY=($("$1" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null))
    ((${#COMPREPLY[@]})) || compopt -o default
}

complete -F _guildlog guildlog
