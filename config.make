# The rule that makes the titles again when their data change.
#
# Only nginx's hook of this name, beside "config", can add a rule to the
# Makefile: "config" runs before the Makefile is written, and the dependencies
# that it lists make objects anew, not sources.  Without the rule "make" would
# go on silently with the titles of the last "configure".

printf '\n%s: %s\n\t%s\n\n' "$guildlog_titles" \
    "$guildlog_titles_awk $guildlog_titles_from" \
    "`echo $guildlog_titles_make`" >> $NGX_MAKEFILE
