# Usage: LC_ALL=C awk -f ngx_guildlog_language.awk sql/data.sql \
#            conf/log-types.tsv conf/languages/*.tsv \
#            > ngx_guildlog_language_data.c
#
# Makes C of the titles of the log types, and of the words around them, in
# all languages.  The languages are those of sql/data.sql, the log types and
# their English titles those of conf/log-types.tsv, the words those of
# conf/languages/en-US.tsv.  The categories of the log types are told, too.
# Each mistake is told by file and line; if there is one, nothing is written.
#
# This is POSIX awk.  In the locale "C" a character is a byte.


function wrong(place, why) {
    print place ": " why | "cat >&2"
    bad = 1
}


# remembers a line of a language; the end is where it can be judged

function put(language, key, text) {
    if ((language, key) in place) {
        wrong(here, "\"" key "\" stands in " place[language, key] " already")
        return
    }

    place[language, key] = here
    text_of[language, key] = text
    line_language[lines] = language
    line_key[lines++] = key
}


# characters: the bytes that do not continue one

function size(text) {
    gsub(/[\200-\277]/, "", text)
    return length(text)
}


function places_for_count(text) {
    return gsub(/[{]count[}]/, "", text)
}


function check(language, key,    text, at) {
    text = text_of[language, key]
    at = place[language, key]

    if (!(key in kind)) {
        wrong(at, "\"" key "\" is neither a log type nor a word")
        return
    }

    if (text == "") {
        wrong(at, "\"" key "\" is empty")
    }

    if (size(text) > longest[kind[key]]) {
        wrong(at, "longer than " longest[kind[key]] " characters")
    }

    if (places_for_count(text) != places_for_count(text_of[english, key])) {
        wrong(at, "\"{count}\" must stand here as often as in " \
              place[english, key])
    }

    if (kind[key] == "type") {
        if ((language, text) in title_place) {
            wrong(at, "the same title as in " title_place[language, text])
        }

        title_place[language, text] = at
    }

    # a word may be a format of ngx_sprintf()
    gsub(/[{]count[}]/, "", text)

    if (text ~ /[%{}]/) {
        wrong(at, "\"%\", \"{\" and \"}\" may not stand here")
    }
}


# what a language says, or the one that it is like

function said(language, key) {
    if (!((language, key) in text_of) && language in like) {
        language = like[language]
    }

    if (!((language, key) in text_of)) {
        wrong(last[language], "\"" key "\" is missing")
    }

    return text_of[language, key]
}


function quoted(text) {
    gsub(/[\\"]/, "\\\\&", text)
    gsub(/[{]count[}]/, "%ui", text)
    return "\"" text "\""
}


function table(name, bound, rows, row, label,    i, j, out, key) {
    out = "\n\nconst char *const\n    " name "[NGX_GUILDLOG_LOCALES][" bound \
          "] =\n{\n"

    for (i = 0; i < languages; i++) {
        out = out "    {   /* " name_of[i] " */\n"

        for (j = 0; j < rows; j++) {
            key = row[j]
            out = out "        "
            if (label != "") {
                out = out "[" label toupper(key) "] = "
            }
            out = out quoted(said(name_of[i], key)) \
                  (j + 1 < rows ? "," : "") "\n"
        }

        out = out "    }" (i + 1 < languages ? "," : "") "\n"
    }

    return out "};\n"
}


BEGIN {
    lines = languages = categories = 0
    longest["type"] = 100
    longest["word"] = 30
}


# each line: printable, in UTF-8

{
    here = FILENAME ":" FNR
    rest = $0

    gsub(/[\t\040-\176]+/, " ", rest)
    gsub(/[\302-\337][\200-\277]/, " ", rest)
    gsub(/\340[\240-\277][\200-\277]/, " ", rest)
    gsub(/[\341-\354\356\357][\200-\277][\200-\277]/, " ", rest)
    gsub(/\355[\200-\237][\200-\277]/, " ", rest)
    gsub(/\360[\220-\277][\200-\277][\200-\277]/, " ", rest)
    gsub(/[\361-\363][\200-\277][\200-\277][\200-\277]/, " ", rest)
    gsub(/\364[\200-\217][\200-\277][\200-\277]/, " ", rest)

    if (rest ~ /[^ ]/) {
        wrong(here, "a control character, or not UTF-8")
        next
    }
}


# sql/data.sql: the languages by their numbers, of which the first is English

FILENAME == ARGV[1] && /^insert into language / {
    listing = 1
    next
}

FILENAME == ARGV[1] && /^on conflict / {
    listing = 0
}

FILENAME == ARGV[1] {
    if (listing) {
        split($0, part, "'")

        if ($0 !~ /^ *\([0-9]+, '[A-Za-z_-]+'\),?$/ \
            || $1 != "(" languages "," || part[2] in number)
        {
            wrong(here, "not the language of number " languages)
            exit
        }

        listed_at[languages] = here
        number[part[2]] = languages
        name_of[languages++] = part[2]
        english = name_of[0]
    }

    next
}


# conf/log-types.tsv: a heading, and the log types by their numbers

FILENAME == ARGV[2] {
    if (FNR > 1) {
        if (split($0, part, "\t") != 7 || part[1] != types "" \
            || part[2] !~ /^[A-Za-z]+$/ || part[3] !~ /^category[A-Z][a-z]+$/)
        {
            wrong(here, "not seven columns of the log type " types)
            exit
        }

        put(english, part[2], part[7])
        kind[part[2]] = "type"
        category_of[types] = part[3]
        type[types++] = part[2]
        add_category(part[3])
    } else {
        types = 0
    }

    next
}


# conf/languages/LANGUAGE.tsv

{
    language = FILENAME
    sub(/.*\//, "", language)
    sub(/[.]tsv$/, "", language)

    if (!(language in number)) {
        wrong(here, "sql/data.sql has no language \"" language "\"")
        nextfile
    }

    last[language] = here
}

# what changes are called is for ngx_guildlog_change.awk

/^(#|$|change[.])/ {
    next
}

split($0, part, "\t") != 2 || part[1] !~ /^[A-Za-z]+$/ || part[2] ~ /^ | $/ {
    wrong(here, "not a key, a tab and a text")
    next
}

part[1] == "like" {
    if (language in like) {
        wrong(here, "a language is like one other")
    }

    like[language] = part[2]
    like_at[language] = here
    next
}

{
    put(language, part[1], part[2])

    if (language == english && !(part[1] in kind)) {
        if (part[1] !~ /^[a-z]+$/) {
            wrong(here, "a word is named in small letters")
        }

        kind[part[1]] = "word"
        word[words++] = part[1]
    }
}


# keeps them in the order of their names

function add_category(name,    i) {
    if (name in is_category) {
        return
    }

    is_category[name] = 1

    for (i = categories++; i > 0 && category[i - 1] > name; i--) {
        category[i] = category[i - 1]
    }

    category[i] = name
}


function table_of_categories(    i, out, place) {
    out = "\n\nconst char *const\n" \
          "    ngx_guildlog_type_categories[NGX_GUILDLOG_CATEGORIES] =\n{\n"

    for (i = 0; i < categories; i++) {
        out = out "    \"" category[i] "\"" \
              (i + 1 < categories ? "," : "") "\n"
        place[category[i]] = i
    }

    out = out "};\n\n\nconst u_char\n" \
          "    ngx_guildlog_type_category[NGX_GUILDLOG_TYPES] =\n{\n"

    for (i = 0; i < types; i++) {
        out = out "    " place[category_of[i]] (i + 1 < types ? "," : "") "\n"
    }

    return out "};\n"
}


# only where each line can be read, or one mistake would lead to many

function judge(    i, name) {
    if (!languages || !types || !words) {
        wrong(ARGV[1], "no languages, no log types, or no words")
        return
    }

    for (i = 0; i < lines; i++) {
        check(line_language[i], line_key[i])
    }

    for (i = 0; i < languages; i++) {
        name = name_of[i]

        if (!(name in last)) {
            wrong(listed_at[i], "no titles in \"" name "\" were given " \
                  "(after a new file nginx is configured again)")
        }

        if (name in like && (!(like[name] in number) || like[name] in like)) {
            wrong(like_at[name], "\"" like[name] "\" is no language that " \
                  "stands for itself")
        }
    }

    if (!bad) {
        out = table("ngx_guildlog_titles", "NGX_GUILDLOG_TYPES", types, type)
        out = out table("ngx_guildlog_labels", "NGX_GUILDLOG_LABELS", words,
                        word, "NGX_GUILDLOG_LABEL_")
        out = out table_of_categories()
    }
}


END {
    if (!bad) {
        judge()
    }

    if (bad) {
        close("cat >&2")
        exit 1
    }

    print ""
    print "/* ngx_guildlog_language.awk made this of conf/languages */"
    print ""
    print "#include \"log/ngx_guildlog_language.h\""
    print "\n"
    print "_Static_assert(NGX_GUILDLOG_LOCALES == " languages ","
    print "               \"NGX_GUILDLOG_LOCALES is not " languages "\");"
    print "_Static_assert(NGX_GUILDLOG_TYPES == " types ","
    print "               \"NGX_GUILDLOG_TYPES is not " types "\");"
    print "_Static_assert(NGX_GUILDLOG_CATEGORIES == " categories ","
    print "               \"NGX_GUILDLOG_CATEGORIES is not " categories "\");"
    print "_Static_assert(NGX_GUILDLOG_LABELS == " words ","
    print "               \"ngx_guildlog_label_e has not " words " words\");"
    printf "%s", out
}
