# Usage: LC_ALL=C awk -f ngx_guildlog_change.awk sql/data.sql \
#            conf/viewer/change-keys.tsv conf/viewer/languages/*.tsv \
#            > ngx_guildlog_change_data.c
#
# Makes C of what is known of the keys of changes, and of their labels in all
# languages: the lines of a language that begin with "change.".  The keys and
# the English labels are those of change-keys.tsv.  Each mistake is told by file
# and line; if there is one, nothing is written.
#
# This is POSIX awk.  In the locale "C" a character is a byte.


function wrong(place, why) {
    print place ": " why | "cat >&2"
    bad = 1
}


function quoted(text) {
    gsub(/[\\"]/, "\\\\&", text)
    return "\"" text "\""
}


BEGIN {
    FS = "\t"
    languages = keys = 0
    kinds = "word text number limit flag color permissions time seconds " \
            "minutes days bitrate percent image user role channel " \
            "choice type value"
    words = "yes no none added changed removed off"
    nwords = split(words, word, " ")

    for (i = split(kinds, part, " "); i; i--) {
        is_kind[part[i]] = 1
    }
}


FILENAME == ARGV[1] {
    if (/^ *\([0-9]+, '[A-Za-z_-]+'\),?$/) {
        split($0, part, "'")
        number[part[2]] = languages
        name_of[languages++] = part[2]
    } else if (languages) {
        nextfile
    }

    next
}


# change-keys.tsv: a heading, and the keys, of which words come first

FILENAME == ARGV[2] {
    if (FNR == 1) {
        next
    }

    where = FILENAME ":" FNR

    if (NF != 3 || $1 !~ /^[$a-zA-Z_]+([.][0-9]+)?$/ || $3 == "") {
        wrong(where, "not a key, a kind and a label")
    } else if ($1 in at) {
        wrong(where, "\"" $1 "\" stands here twice")
    } else if (!($2 in is_kind) && $2 !~ /^bit:[1-6]?[0-9]$/) {
        wrong(where, "there is no kind \"" $2 "\"")
    } else if (keys < nwords && $1 != word[keys + 1]) {
        wrong(where, "not the word \"" word[keys + 1] "\"")
    } else if ((keys < nwords) != ($2 == "word")) {
        wrong(where, "another word than " words)
    }

    if ($2 == "value") {
        split($1, part, ".")
        if (kind[at[part[1]]] !~ /^(choice|type)$/) {
            wrong(where, "\"" part[1] "\" is no choice")
        }
    }

    at[$1] = keys
    kind[keys] = $2
    label[0, keys] = $3
    key[keys++] = $1
    next
}


# languages/LANGUAGE.tsv

FNR == 1 {
    language = FILENAME
    sub(/.*\//, "", language)
    sub(/[.]tsv$/, "", language)
    file[language] = FILENAME
}

$1 == "like" {
    like[language] = $2
}

!/^change[.]/ {
    next
}

{
    where = FILENAME ":" FNR
    name = substr($1, 8)

    if (!(name in at) || NF != 2) {
        wrong(where, "conf/viewer/change-keys.tsv has no such key")
    } else if ((number[language], at[name]) in label) {
        wrong(where, "\"" $1 "\" stands somewhere else already")
    } else {
        label[number[language], at[name]] = $2
    }
}


function said(n, k,    its) {
    its = n

    if (!((n, k) in label) && name_of[n] in like) {
        its = number[like[name_of[n]]]
    }

    if (!((its, k) in label)) {
        wrong(file[name_of[n]], "\"change." key[k] "\" is missing")
    }

    return label[its, k]
}


END {
    if (!languages || !keys) {
        wrong(ARGV[1], "no languages, or no keys")
    }

    for (i = 0; i < languages && !bad; i++) {
        for (j = 0; j < keys; j++) {
            out = out "    " quoted(said(i, j)) \
                  (i + 1 < languages || j + 1 < keys ? "," : "") "\n"
        }
    }

    if (bad) {
        close("cat >&2")
        exit 1
    }

    print ""
    print "/* ngx_guildlog_change.awk made this of change-keys.tsv */"
    print ""
    print "#include \"log/ngx_guildlog_change.h\"\n\n"

    print "const ngx_guildlog_change_key_t  ngx_guildlog_change_keys[] = {"

    for (j = nwords; j < keys; j++) {
        if (kind[j] ~ /^bit:/) {
            bits = bits "    [" substr(kind[j], 5) "] = " j ",\n"
            continue
        }

        print "    { ngx_string(\"" key[j] "\"), NGX_GUILDLOG_CHANGE_IS_" \
              toupper(kind[j]) ", " j " },"
    }

    print "    { ngx_null_string, NGX_GUILDLOG_CHANGE_IS_TEXT, 0 }\n};\n\n"

    print "const ngx_uint_t\n" \
          "    ngx_guildlog_change_bits[NGX_GUILDLOG_CHANGE_BITS] =\n{"
    printf "%s", bits
    print "};\n\n"

    print "const ngx_uint_t  ngx_guildlog_change_locales = " languages ";"
    print "const ngx_uint_t  ngx_guildlog_change_nlabels = " keys ";"
    print "const ngx_uint_t  ngx_guildlog_change_back = " number["ar"] ";\n\n"

    print "const char *const  ngx_guildlog_change_labels[] = {"
    printf "%s", out
    print "};"
}
