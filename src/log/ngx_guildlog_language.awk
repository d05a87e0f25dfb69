# Usage: LC_ALL=C awk -f ngx_guildlog_language.awk sql/data.sql \
#            conf/viewer/log-types.tsv conf/viewer/languages/*.tsv \
#            > ngx_guildlog_language_data.c
#
# Makes C of what is known of the log types, and of their titles, sentences and
# the words around them in all languages.  The languages are those of
# sql/data.sql, the log types with their English titles and sentences those of
# log-types.tsv, the words those of en-US.tsv.  Each mistake is told by file and
# line; if there is one, nothing is written.
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

    if (kind[key] == "sentence") {
        check_sentence(at, text, key)
        return
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


# Which places each alternative has, as two sums of bits: those that it must
# have, and those in brackets, that it may have.  "" if the text is wrong

function outline(text,    i, n, all, rest, part, must, may, out) {
    n = split(text, all, / [|] /)
    out = ""

    for (i = 1; i <= n; i++) {
        rest = all[i]
        may = 0

        while (match(rest, /\[[^][]*\]/)) {
            part = substr(rest, RSTART + 1, RLENGTH - 2)
            rest = substr(rest, 1, RSTART - 1) substr(rest, RSTART + RLENGTH)

            part = bits(part)
            if (part <= 0) {
                return ""
            }

            may += part
        }

        must = bits(rest)
        if (must < 0 || size(all[i]) > longest["sentence"] \
            || all[i] ~ /^ | $|  |[.]$/)
        {
            return ""
        }

        out = out " " must "+" may
    }

    return out
}


# of the places in a text; -1 if something else is in braces

function bits(text,    sum, name, seen) {
    sum = 0

    while (match(text, /[{][a-z]+[}]/)) {
        name = substr(text, RSTART + 1, RLENGTH - 2)
        if (!(name in place_bit) || name in seen) {
            return -1
        }

        seen[name] = 1
        sum += place_bit[name]
        text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
    }

    return text ~ /[][{}|%]/ ? -1 : sum
}


# the English one is held against the fields of its type, the others against it

function check_sentence(at, text, key,    name, rest) {
    if (outline(text) == "") {
        wrong(at, "not a sentence with places, brackets and alternatives, " \
              "each of at most " longest["sentence"] " characters")
        return
    }

    if (outline(text) != outline(text_of[english, key])) {
        wrong(at, "the places are not those of " place[english, key])
    }

    rest = text
    while (match(rest, /[{][a-z]+[}]/)) {
        name = substr(rest, RSTART + 1, RLENGTH - 2)
        if (!((key, name) in label_of)) {
            wrong(at, "{" name "} is no field of the log type")
        }

        rest = substr(rest, RSTART + RLENGTH)
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
    return "\"" text "\""
}


# a word may have a number

function quoted_format(text) {
    gsub(/[{]count[}]/, "%ui", text)
    return quoted(text)
}


# as ngx_guildlog_language_say() reads it: a place is the byte of its number

function quoted_sentence(text,    i) {
    gsub(/[\\"]/, "\\\\&", text)
    text = replaced(text, " | ", "\\036")
    text = replaced(text, "[", "\\034")
    text = replaced(text, "]", "\\035")

    for (i = 1; i <= places; i++) {
        text = replaced(text, "{" place_name[i] "}", sprintf("\\%03o", i))
    }

    return "\"" text "\""
}


# not by gsub(): awks differ in what a "\" before a digit means there

function replaced(text, from, to,    at, out) {
    while ((at = index(text, from))) {
        out = out substr(text, 1, at - 1) to
        text = substr(text, at + length(from))
    }

    return out text
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
            key = said(name_of[i], key)
            out = out (name ~ /sentences/ ? quoted_sentence(key) \
                                          : quoted_format(key)) \
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
    longest["sentence"] = 200

    # ngx_guildlog_place_e, and the first labels of ngx_guildlog_label_e
    places = split("executor target channel role name count emoji action " \
                   "value until", place_name, " ")
    bit = 1    # doubled: busybox may have no "^"
    for (i = 1; i <= places; i++) {
        bit += bit
        place_bit[place_name[i]] = bit
    }

    labelled = split("executor target channel role name reason count emoji " \
                     "action value", labelled_name, " ")

    source_form = "^(service|gateway [A-Z_]+|audit [A-Z_]+ [0-9]+)" \
                  "( [(][^()]+[)])?$"

    for (i = split("said edit jump file channel account own",
                   marks, " "); i; i--) {
        is_mark[marks[i]] = 1
    }

    target_of["member"] = target_of["author"] = "USER"
    target_of["channel"] = target_of["thread"] = "CHANNEL"
    target_of["role"] = "ROLE"
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


# conf/viewer/log-types.tsv: a heading, and the log types by their numbers

FILENAME == ARGV[2] {
    if (FNR > 1) {
        if (split($0, part, "\t") != 11 || part[1] != types "" \
            || part[2] !~ /^[A-Za-z]+$/ \
            || part[3] !~ /^category[A-Z][a-z]+$/ \
            || part[8] !~ /^(new|changed|gone|other)( [a-z]+)*$/)
        {
            wrong(here, "not eleven columns of the log type " types)
            exit
        }

        put(english, part[2], part[7])
        put(english, part[2] " ", part[11])
        kind[part[2]] = "type"
        kind[part[2] " "] = "sentence"
        sentence[types] = part[2] " "
        read_kind(part[8])
        read_fields(part[2] " ", part[10])
        json[types] = json_of_type(part)
        category_of[types] = part[3]
        type[types++] = part[2]
        add_category(part[3])
    } else {
        types = 0
    }

    next
}


# "kind mark mark"

function read_kind(text,    i, n, word) {
    n = split(text, word, / /)
    kind_of[types] = word[1]
    marks_of[types] = "0"

    for (i = 2; i <= n; i++) {
        if (!(word[i] in is_mark)) {
            wrong(here, "there is no mark \"" word[i] "\"")
        }

        marks_of[types] = marks_of[types] "\n      | NGX_GUILDLOG_MARK_" \
                          toupper(word[i])
    }
}


# "field=label: what it holds; field: what it holds", where the label of most
# fields is their own name

function read_fields(key, text,    i, n, all, field, label) {
    n = split(text, all, /; /)

    for (i = 1; i <= n; i++) {
        if (all[i] !~ /^[A-Za-z_]+(=[a-z]+)?: [^ ]/) {
            wrong(here, "\"" all[i] "\" is no field and what it holds")
            continue
        }

        field = label = substr(all[i], 1, index(all[i], ":") - 1)
        sub(/=.*/, "", field)
        sub(/.*=/, "", label)

        if ((key, field) in label_of) {
            wrong(here, "the field \"" field "\" is there twice")
        }

        label_of[key, field] = label
        if (label != field) {
            label_at[label] = here
        }
    }
}


# the log type as GET /log-types tells it

function json_of_type(part,    i, n, all, one, out, sentence) {
    sentence = part[11]
    sub(/ [|] .*/, "", sentence)
    gsub(/[][]/, "", sentence)

    out = "{" json_pair("id", part[1]) "," json_pair("key", part[2]) "," \
          json_pair("category", part[3]) "," json_pair("title", part[7]) \
          ",\"source\":["

    n = split(part[9], all, /; /)

    for (i = 1; i <= n; i++) {
        if (all[i] !~ source_form) {
            wrong(here, "\"" all[i] "\" is no source")
        }

        one = all[i]
        sub(/ .*/, "", one)
        out = out (i > 1 ? "," : "") "{" json_pair("from", one)

        if (match(all[i], /[A-Z_][A-Z_]+/)) {
            out = out "," json_pair("name", substr(all[i], RSTART, RLENGTH))
        }

        if (match(all[i], / [0-9]+/)) {
            out = out "," json_pair("code", substr(all[i], RSTART + 1, \
                                                   RLENGTH - 1))
        }

        if (match(all[i], /[(].*[)]/)) {
            out = out "," json_pair("when", substr(all[i], RSTART + 1, \
                                                   RLENGTH - 2))
        }

        out = out "}"
    }

    out = out "],\"fields\":["
    n = split(part[10], all, /; /)

    for (i = 1; i <= n; i++) {
        one = all[i]
        sub(/[=:].*/, "", one)
        sub(/^[^:]*: /, "", all[i])
        out = out (i > 1 ? "," : "") "{" json_pair("name", one) "," \
              json_pair("holds", all[i]) "}"
    }

    return out "]," json_pair("sentence", sentence) "," \
           json_pair("pattern", part[11]) "}"
}


function json_pair(name, text) {
    gsub(/[\\"]/, "\\\\&", text)
    return "\"" name "\":" (text ~ /^[0-9]+$/ ? text : "\"" text "\"")
}


# languages/LANGUAGE.tsv: a key, and the text; of a log type the title, and
# the sentence

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

# what changes are called is for ngx_guildlog_change.awk, what the log viewer
# says for util/texts

/^(#|$|change[.]|viewer[.])/ {
    next
}

{
    n = split($0, part, "\t")
}

n < 2 || n > 3 || part[1] !~ /^[A-Za-z]+$/ || part[2] ~ /^ | $/ {
    wrong(here, "not a key, a tab and a text")
    next
}

n == 3 {
    put(language, part[1] " ", part[3])
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


# one row a log type, as struct ngx_guildlog_type_s

function table_of_types(    i, j, out, field, label) {
    out = "\n\nconst ngx_guildlog_type_t\n" \
          "    ngx_guildlog_types[NGX_GUILDLOG_TYPES] =\n{\n"

    for (i = 0; i < types; i++) {
        label = label_of[sentence[i], "target"]
        out = out "    { \"" type[i] "\",\n      NGX_GUILDLOG_KIND_" \
              toupper(kind_of[i]) ", NGX_GUILDLOG_TARGET_" \
              (label in target_of ? target_of[label] : "OTHER") \
              ",\n      " marks_of[i] ",\n      {"

        for (j = 1; j <= labelled; j++) {
            field = labelled_name[j]
            label = label_of[sentence[i], field]
            out = out (j > 1 ? "," : "") "\n        NGX_GUILDLOG_LABEL_" \
                  toupper(label == "" ? field : label)
        }

        out = out "\n      } }" (i + 1 < types ? "," : "") "\n"
    }

    return out "};\n"
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


function table_of_json(    i, out) {
    out = "\n\nconst char  ngx_guildlog_types_json[] =\n    \"[\"\n"

    for (i = 0; i < types; i++) {
        out = out "    " quoted(json[i] (i + 1 < types ? "," : "")) "\n"
    }

    return out "    \"]\";\n\nconst size_t  ngx_guildlog_types_json_size =\n" \
           "    sizeof(ngx_guildlog_types_json) - 1;\n"
}


# only where each line can be read, or one mistake would lead to many

function judge(    i, name, label) {
    if (!languages || !types || !words) {
        wrong(ARGV[1], "no languages, no log types, or no words")
        return
    }

    for (i = 0; i < lines; i++) {
        check(line_language[i], line_key[i])
    }

    for (label in label_at) {
        if (kind[label] != "word") {
            wrong(label_at[label], "\"" label "\" is no word of " \
                  "conf/viewer/languages/en-US.tsv")
        }
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
        out = table_of_types()
        out = out table("ngx_guildlog_titles", "NGX_GUILDLOG_TYPES", types,
                        type)
        out = out table("ngx_guildlog_sentences", "NGX_GUILDLOG_TYPES", types,
                        sentence)
        out = out table("ngx_guildlog_labels", "NGX_GUILDLOG_LABELS", words,
                        word, "NGX_GUILDLOG_LABEL_")
        out = out table_of_categories()
        out = out table_of_json()
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
    print "/* ngx_guildlog_language.awk made this of conf/viewer/languages */"
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
