# What nginx's configure adds to its Makefile for the module, after "config"

printf '\n%s: %s\n\t%s\n\n' "$guildlog_titles" \
    "$guildlog_titles_awk $guildlog_titles_from" \
    "`echo $guildlog_titles_make`" >> $NGX_MAKEFILE
