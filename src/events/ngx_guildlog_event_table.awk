# Usage: LC_ALL=C awk -f ngx_guildlog_event_table.awk \
#            conf/viewer/log-types.tsv conf/events-known.tsv \
#            conf/events.tsv > ngx_guildlog_event_table_data.c
#
# Makes C of what becomes of each event of the platform's gateway and of each
# action of its audit log.  Each mistake is told by file and line; if there is
# one, nothing is written.
#
# The rows of an event stand together and are tried in their order.  Each that
# fits makes an entry of its "type".  "when" says when it fits, with " and "
# between several conditions:
#
#     was.poll given             it is there, and not null, false, 0 or empty
#     action.type is 2           this is its value
#     change.scopes has bot      it is a list that has this value
#     premium_since fresh        a time within a minute of the packet's
#     thread channel_id          the channel with that ID is a thread
#     bot target_id              who has that ID is a bot
#     unknown                    nothing is known of what the event is about
#     mute comes, goes           the change of a key: it was not there, it is
#     nick differs                   not any more, it is another,
#     channel_id stays               it is there, as before,
#     attachments shrinks            the list is shorter
#     otherwise                  alone: no row before fits, or a change is left
#                                    that none was for
#
# Changes are those of the audit log's entry; of the gateway what differs from
# what is known.  "differs" and "shrinks" are never of a key that the packet
# has not.
#
# A row whose first condition is of a change takes that key, any other all that
# is left: no later row is for what was taken.  A row with "besides" before its
# conditions fits whatever was taken, and takes nothing.  Instead of fields,
# "audit", "gateway" and "several" say who tells it: such a row makes nothing
# and takes, but only with a condition; without one it is a remark and left
# out.  A row without a type has a reason.  The last row of an event always
# fits.
#
# "entry" says what the fields hold, "; " between them; the first path that is
# there counts where there are several, ", " between them:
#
#     target_id, user.id         what the event has under that name
#     was.content                what was known of it before
#     change.name                the new value of a change, or the old
#     guild.member_count         what is known of the server,
#     @rule_id.name                  of the thing that has this ID
#     #was.channel_id            the name of the channel with this ID
#     #number                    "audit" and the number of an action not known
#     'onboarding'               these words
#     messages=was, now          the message itself, before and after
#     changes                    those that the row is for, or of those the
#     changes=max_age, uses          ones named, but for what is new or gone
#                                    and told by another field
#     changes.$remove=was.roles  a change of roles
#     image=icons/{guild_id}/{icon_hash}
#                                the last place is the key that changed
#
# An entry of the audit log has its executor and its reason by itself.
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


function one_of(word, words) {
    return index(" " words " ", " " word " ") > 0
}


function declare(of, path, kind, note) {
    if ((of, path) in kind_of) {
        wrong(here, "\"" path "\" of " of " stands in " known_at[of, path] \
              " already")
        return
    }

    kind_of[of, path] = kind
    known_at[of, path] = here
    line_of_known[here] = line_of_known[here] SUBSEP of SUBSEP path

    if (kind == "teaches" || kind == "id" && note == "required") {
        if (kind == "teaches") {
            what_of[of] = toupper(path)
        } else {
            ids_of[of] = ids_of[of] quoted(path) ", "
            if (++nids_of[of] == most) {
                wrong(here, "more than " most - 1 " ids of " of)
            }
        }

        used[here] = 1
    } else if (of == "change" && note == "untold") {
        untold[path] = here
        untolds = untolds "    " quoted(path) ",\n"
    } else if (of ~ /^was / && note != "") {
        before_of[of, note] = path
    } else if (note != "") {
        wrong(here, "\"" note "\" says nothing here")
    }
}


# the kind of what is declared, "" behind a mistake

function declared(of, path) {
    if (!((of, path) in kind_of)) {
        wrong(here, "\"" path "\" of " of " is not in " ARGV[2])
        return ""
    }

    used[known_at[of, path]] = 1
    return kind_of[of, path]
}


# of a change: in the event as in what was known

function kind_of_change(key,    kind) {
    if (from == "audit") {
        return declared("change", key)
    }

    kind = declared(name, key)

    if (declared("was " name, before(key)) != kind) {
        wrong(here, "\"" key "\" is of another kind before")
        return ""
    }

    return kind
}


function before(key) {
    return ("was " name, key) in before_of ? before_of["was " name, key] : key
}


function kind_of_path(path,    part, kind) {
    if (path ~ /^'[^']*'$/) {
        return length(path) > 2 ? "text" : ""
    }

    if (path == "#number") {
        if (code != "*") {
            wrong(here, "\"#number\" is for actions that are not known")
        }

        return "text"
    }

    if (path ~ /^#/) {
        return kind_is(substr(path, 2), "id") ? "text" : ""
    }

    if (path ~ /^change[.]/ && from == "audit") {
        return declared("change", substr(path, 8))
    }

    if (path ~ /^guild[.]/) {
        return declared("guild", substr(path, 7))
    }

    if (path ~ /^@[a-z_]+[.]/) {
        part = substr(path, 2, index(path, ".") - 2)
        kind = kind_is(part, "id")
        return kind ? declared("@", substr(path, length(part) + 3)) : ""
    }

    if (path ~ /^was([.]|$)/ && from == "gateway") {
        if (blind) {
            wrong(here, "\"" path "\" is never there where nothing is known")
        }

        return declared("was " name, path == "was" ? path : substr(path, 5))
    }

    return declared(from == "audit" ? from : name, path)
}


function kind_is(path, kinds,    kind) {
    kind = kind_of_path(path)

    if (kind == "" || one_of(kind, kinds)) {
        return kind != ""
    }

    wrong(here, "\"" path "\" is a " kind ", not a " kinds)
    return 0
}


# What has to be known before the rows are tried: of what the id is that the
# path leads to, unless the path tells.  What was known, or is said in words,
# leads to no id of the packet.

function needs(of, path) {
    sub(/^#/, "", path)

    if (path ~ /^@/) {
        of = "THING"
        gsub(/^@|[.].*/, "", path)
    } else if (path ~ /^guild[.]/) {
        of = "GUILD"
        path = ""
    }

    if (path !~ /^(was[.]|'|number$)/ && !((present, of, path) in need_of)) {
        need_of[present, of, path] = 1
        need_c[needed++] = "{ NGX_GUILDLOG_KNOWN_" of ", " \
                           (path == "" ? "NULL" : quoted(path)) " }"
        needs_of[present]++
    }
}


# one condition of the row, as C

function condition(text,    word, n, verb, path, value, fits, kind) {
    n = split(text, word, " ")
    verb = n == 1 || one_of(word[1], "thread bot") ? word[1] : word[2]
    path = n == 1 ? "" : one_of(word[1], "thread bot") ? word[2] : word[1]
    value = ""

    if (!(verb in words_of) || words_of[verb] != n) {
        wrong(here, "\"" text "\" is no condition")
        return ""
    }

    if (n == 3) {
        value = word[3]
    }

    if (one_of(verb, "thread bot") || path ~ /^@/) {
        needs(verb == "bot" ? "MEMBER" : "CHANNEL", path)
    }

    if (one_of(verb, changes)) {
        kind = kind_of_change(path)

        if (kind != "" && verb == "shrinks" && kind != "list") {
            wrong(here, "\"" path "\" is a " kind ", not a list")
        }

        if (from == "gateway" && before(path) != path) {
            value = before(path)
        }

    } else if (verb == "unknown") {
        blind = 1

        if (!(name in has_before) || from != "gateway") {
            wrong(here, "of what this is about nothing is ever known")
        }

    } else if (path != "") {
        fits = kind_is(path, takes[verb])

        if (fits && verb == "is" && kind_of_path(path) == "number" \
            && value !~ /^[0-9]+$/)
        {
            wrong(here, "\"" value "\" is no number")
        }
    }

    return "{ NGX_GUILDLOG_WHEN_" toupper(verb) ", " \
           (path == "" ? "NULL" : quoted(path)) ", " \
           (value == "" ? "NULL" : quoted(value)) " }"
}


# Is the condition one of the row's, or does one of them say more?

function implied(text, row,    i, word, mine) {
    split(text, word, " ")

    for (i = 1; i <= nwhen[row]; i++) {
        split(when_of[row, i], mine, " ")

        if (when_of[row, i] == text || mine[1] == word[1] \
            && (word[2] == "differs" && one_of(mine[2], "comes goes shrinks") \
                || word[2] == "given" && (mine[2] == "has" \
                                          || mine[2] == "is" \
                                             && mine[3] !~ /^(0|false)$/)))
        {
            return 1
        }
    }

    return 0
}


# does nothing come to the second that the first does not take?

function covers(first, row,    i) {
    if (key_of[first] != "" && key_of[first] != key_of[row]) {
        return 0
    }

    for (i = 1; i <= nwhen[first]; i++) {
        if (!implied(when_of[first, i], row)) {
            return 0
        }
    }

    return 1
}


# one field and what it holds, as C

function assignment(text,    left, right, field, part, path, n, i, out) {
    left = right = text
    sub(/=.*/, "", left)

    if (!sub(/^[^=]*=/, "", right)) {
        right = ""
    }

    field = part = left
    sub(/[.].*/, "", field)

    if (!sub(/^[^.]*[.]/, "", part)) {
        part = ""
    }

    if (!((field, part) in holds)) {
        wrong(here, "\"" left "\" is no field of an entry")
        return ""
    }

    if (index(promised[type], " " field " ") == 0 \
        && !(from == "audit" && one_of(field, "executor reason")))
    {
        wrong(here, "\"" field "\" is no field of " type " in " ARGV[1])
    }

    if (left in filled) {
        wrong(here, "\"" left "\" is filled twice")
    }

    if ("changes" in filled) {
        wrong(here, "\"changes\" is not the last field")
    }

    filled[left] = 1
    n = split(right, path, ", ")

    if (n > most || n == 0 && left != "changes") {
        wrong(here, "\"" left "\" has no path, or more than " most)
        return ""
    }

    if (left == "changes") {
        if (from == "gateway" && (n || key_of[rows] == "")) {
            wrong(here, "\"changes\" of the gateway are those of a row that " \
                  "is for one")
        }

        for (i = 1; i <= n && from == "audit"; i++) {
            declared("change", path[i])
            if (path[i] in untold) {
                wrong(here, "\"" path[i] "\" is told to nobody")
            }
        }

    } else if (left == "image") {
        image(right)

    } else {
        for (i = 1; i <= n; i++) {
            kind_is(path[i], holds[field, part])
        }
    }

    for (i = 1; i <= n; i++) {
        if (path[i] ~ /^(@|#|guild[.])/) {
            needs("CHANNEL", path[i])
        } else if (part == "" && field in named) {
            needs(named[field], path[i])
        }

        sub(/'$/, "", path[i])
        out = out (i > 1 ? ", " : "") quoted(path[i])
    }

    return "{ NGX_GUILDLOG_ENTRY_" constant[field] ",\n      " \
           (part == "" ? "NULL" : quoted(part)) ",\n      { " \
           (n ? out : "NULL") " } }"
}


# "icons/{guild_id}/{icon_hash}"

function image(text,    place, kind) {
    if (text !~ /^([a-z\/-]*[{][a-z_.]+[}])+$/) {
        wrong(here, "\"" text "\" is no path with places")
        return
    }

    while (match(text, /[{][^}]*[}]/)) {
        place = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)

        if (text != "") {
            kind_is(place, "id")
        } else if ((kind = kind_of_change(place)) != "hash" && kind != "") {
            wrong(here, "\"" place "\" is a " kind ", not a hash")
        }
    }
}


# the rows of the event before are all there; one that cannot be read is not

function finish(    i, j, last) {
    last = 0

    if (bad) {
        return
    }

    for (i = first_row; i < rows; i++) {
        if (does[i] == "BESIDES") {
            continue
        }

        for (j = first_row; j < i; j++) {
            if (does[j] == "BESIDES") {
                continue
            }

            if (when_of[j, 1] == "otherwise" || covers(j, i)) {
                wrong(row_at[i], "nothing comes here: " row_at[j] " takes it")
                break
            }

            if (does[i] == "MAKES" && !nwhen[i]) {
                wrong(row_at[i], "\"otherwise\": " row_at[j] " may have " \
                      "made an entry of it")
                break
            }
        }

        if (when_of[i, 1] == "otherwise" && i == first_row) {
            wrong(row_at[i], "\"otherwise\" stands first")
        }

        last = i + 1
    }

    if (rows > first_row && (!last || nwhen[last - 1] \
                             && when_of[last - 1, 1] != "otherwise"))
    {
        wrong(row_at[rows - 1], "the last row of an event always fits")
    }
}


BEGIN {
    FS = "\t"
    bad = rows = first_row = whens = sets = needed = types = 0
    most = 4
    changes = "comes goes differs stays shrinks"
    kinds = "id text number flag time list hash object message"

    n = split("otherwise 1 unknown 1 given 2 is 3 has 3 fresh 2 thread 2 " \
              "bot 2 comes 2 goes 2 differs 2 stays 2 shrinks 2", part, " ")
    for (i = 1; i < n; i += 2) {
        words_of[part[i]] = part[i + 1]
    }

    takes["given"] = kinds
    takes["is"] = "id text number flag"
    takes["has"] = "list"
    takes["fresh"] = "time"
    takes["thread"] = takes["bot"] = "id"

    named["executor"] = named["target"] = "MEMBER"
    named["channel"] = "CHANNEL"
    named["role_id"] = "ROLE"

    holds["executor", ""] = holds["target", ""] = "id"
    holds["channel", ""] = holds["role_id", ""] = holds["emoji", "id"] = "id"
    holds["messages", "id"] = "id"
    holds["channel", "name"] = holds["emoji", "name"] = "text"
    holds["name", ""] = holds["reason", ""] = holds["content", ""] = "text"
    holds["contentAfter", ""] = holds["action", ""] = "text"
    holds["value", ""] = "text number"
    holds["role", ""] = "text list"
    holds["count", ""] = "number list"
    holds["messages", ""] = "message"
    holds["emoji", ""] = "object"
    holds["until", ""] = "time"
    holds["changes", ""] = holds["image", ""] = ""
    holds["changes", "$add"] = holds["changes", "$remove"] = "list"

    for (i in holds) {
        split(i, part, SUBSEP)
        constant[part[1]] = toupper(part[1])
    }

    constant["contentAfter"] = "CONTENT_AFTER"
}


{
    here = FILENAME ":" FNR
}


/[^\t\040-\176]/ && FILENAME != ARGV[1] {
    wrong(here, "a character that is not of ASCII, or none to be printed")
    next
}


# each has a heading; behind a mistake the next one would have many

FNR == 1 {
    if (bad) {
        exit
    }

    next
}


# log-types.tsv: the log types by their numbers, and what their fields are

FILENAME == ARGV[1] {
    if (NF != 11 || $1 != types "") {
        wrong(here, "not eleven columns of the log type " types)
        exit
    }

    number_of[$2] = types++
    service[$2] = $9 == "service"
    promised[$2] = " "

    n = split($10, part, /; /)
    for (i = 1; i <= n; i++) {
        sub(/[=:].*/, "", part[i])
        promised[$2] = promised[$2] part[i] " "
    }

    next
}


# events-known.tsv: of what, a path, its kind, and of what was before also the
# name that the event has for it.  An id that is required is one of each packet
# of a guild.  What "teaches" is no path: it says what the packet tells of what
# is there, as ngx_guildlog_event.h counts it.

FILENAME == ARGV[2] {
    if (NF != 4 || $1 !~ /^(audit|change|@|guild|(was )?[A-Z_]+( [A-Z_]+)*)$/ \
        || $2 !~ /^[$a-z_.]+$/ || !one_of($3, kinds " teaches"))
    {
        wrong(here, "not of what, a path, a kind and a note")
        next
    }

    n = split($1, part, " ")
    for (i = 1; i <= n; i++) {
        if (part[1] != "was") {
            declare(part[i], $2, $3, $4)
        } else if (i > 1) {
            declare("was " part[i], $2, $3, $4)
            has_before[part[i]] = 1
        }

        if (part[i] ~ /^[A-Z]/) {
            asked[part[i]] = here
        }
    }

    next
}


# events.tsv

NF != 7 {
    wrong(here, "not seven columns")
    next
}


{
    event = $1 " " ($1 == "audit" ? $2 : $3)
}


event != present {
    finish()
    present = event
    first_row = rows

    if ($1 == "audit" ? $2 $3 !~ /^([0-9]+[A-Z_]+|[*][*])$/ \
                      : $1 != "gateway" || $2 != "" || $3 !~ /^[A-Z_]+$/)
    {
        wrong(here, "neither an action of the audit log nor an event of the " \
              "gateway")
        next
    }

    if (event in event_at || ($1, $3) in named_at) {
        wrong(here, "the event stands in " \
              (event in event_at ? event_at[event] : named_at[$1, $3]) \
              " already")
        next
    }

    event_at[event] = named_at[$1, $3] = here
    add_event($1, $2, $3)
}


{
    from = $1
    code = $2
    name = $3
    type = $5
}


name != event_name[event] {
    wrong(here, "not the name that " event_at[event] " has")
    next
}


(type == "") != ($7 != "") || (type == "") != ($6 == "") {
    wrong(here, "a row has a type and an entry, or a reason")
    next
}


type != "" && (!(type in number_of) || service[type]) {
    wrong(here, "there is no log type \"" type "\" that events make")
    next
}


one_of($6, "audit gateway several") {
    told[here] = $6 " " type
    if ($4 == "") {
        next
    }
}


{
    row_at[rows] = here
    does[rows] = type == "" ? "IGNORED" : here in told ? "TOLD" : "MAKES"
    type_of[rows] = type == "" ? 0 : number_of[type]
    nwhen[rows] = nset[rows] = 0
    key_of[rows] = ""
    blind = 0
    first_when[rows] = whens
    first_set[rows] = sets

    n = split($4, part, / and /)
    for (i = 1; i <= n; i++) {
        if (part[i] == "besides" && i == 1 && n > 1 && does[rows] == "MAKES") {
            does[rows] = "BESIDES"
            continue
        }

        if (part[i] == "otherwise" && n > 1) {
            wrong(here, "\"otherwise\" stands alone")
        }

        when_of[rows, ++nwhen[rows]] = part[i]
        when_c[whens++] = condition(part[i])
    }

    split(when_of[rows, 1], part, " ")
    if (one_of(part[2], changes) && part[2] != "" && does[rows] != "BESIDES") {
        key_of[rows] = part[1]
    }

    if (does[rows] == "MAKES" || does[rows] == "BESIDES") {
        made[from " " type] = 1
        split("", filled)
        entry = $6

        if (from == "audit") {
            if ("; " entry !~ /; reason=/) {
                entry = "reason=reason; " entry
            }
            if ("; " entry !~ /; executor=/) {
                entry = "executor=user_id; " entry
            }
        }

        n = split(entry, part_of_entry, /; /)
        for (i = 1; i <= n; i++) {
            nset[rows]++
            set_c[sets++] = assignment(part_of_entry[i])
        }
    }

    rows_of[event]++
    rows++
}


# keeps them in the order of their names, or numbers

function add_event(from, code, name,    i, key) {
    key = from == "audit" ? code + 0 : name
    event_name[event] = name
    event_code[event] = code
    rows_of[event] = needs_of[event] = 0
    row_of[event] = rows
    need_at[event] = needed

    if (code == "*") {
        return
    }

    for (i = count[from]++; i > 0 && sorted[from, i - 1] > key; i--) {
        sorted[from, i] = sorted[from, i - 1]
        sorted_event[from, i] = sorted_event[from, i - 1]
    }

    sorted[from, i] = key
    sorted_event[from, i] = event
}


function kind_c(event,    name) {
    name = event ~ /^gateway / ? event_name[event] : ""

    return "{ \"" event_name[event] "\", " event_code[event] + 0 ", " \
           rows_of[event] ",\n      " \
           (rows_of[event] ? "&rows[" row_of[event] "]" : "NULL") ", " \
           needs_of[event] ", " \
           (needs_of[event] ? "&needs[" need_at[event] "]" : "NULL") \
           ",\n      NGX_GUILDLOG_EVENT_" \
           (name in what_of ? what_of[name] : "OTHER") \
           ", { " ids_of[name] "NULL } }"
}


function kinds_c(from,    i, out) {
    out = "\n\nconst ngx_guildlog_event_kind_t  ngx_guildlog_event_" from \
          "[] =\n{\n"

    for (i = 0; i < count[from]; i++) {
        out = out "    " kind_c(sorted_event[from, i]) \
              (i + 1 < count[from] ? "," : "") "\n"
    }

    return out "};\n\nconst ngx_uint_t  ngx_guildlog_event_" from "_n = " \
           count[from] ";\n"
}


function list_c(list, n,    i, out) {
    for (i = 0; i < n; i++) {
        out = out "    " list[i] (i + 1 < n ? "," : "") "\n"
    }

    return "{\n" out "};\n"
}


function row_c(i) {
    return "{ NGX_GUILDLOG_EVENT_" does[i] ", " type_of[i] ", " nwhen[i] \
           ", " nset[i] ",\n      " \
           (nwhen[i] ? "&whens[" first_when[i] "]" : "NULL") ", " \
           (nset[i] ? "&sets[" first_set[i] "]" : "NULL") " }"
}


# what only the whole of it can tell, where each line can be read

function judge(    place, part) {
    if (!types || !count["audit"] || !count["gateway"] \
        || !("audit *" in event_at))
    {
        wrong(ARGV[3], "no log types, no events, or no \"audit *\"")
    }

    for (place in told) {
        split(told[place], part, " ")
        if (part[1] != "several" && !(told[place] in made)) {
            wrong(place, "no event of \"" part[1] "\" makes a " part[2])
        }
    }

    for (place in line_of_known) {
        split(line_of_known[place], part, SUBSEP)
        if (!(place in used) && !(part[2] == "change" && part[3] in untold)) {
            wrong(place, "nothing in " ARGV[3] " asks for it")
        }
    }

    for (name in asked) {
        if (!(("gateway " name) in event_at)) {
            wrong(asked[name], "there is no event " name)
        }
    }
}


END {
    finish()

    if (!bad) {
        judge()
    }

    if (bad) {
        close("cat >&2")
        exit 1
    }

    for (i = 0; i < rows; i++) {
        rows_c[i] = row_c(i)
    }

    print ""
    print "/* ngx_guildlog_event_table.awk made this of events.tsv */"
    print ""
    print "#include \"events/ngx_guildlog_known.h\""
    print "\n"
    print "_Static_assert(NGX_GUILDLOG_EVENT_PATHS == " most ","
    print "               \"NGX_GUILDLOG_EVENT_PATHS is not " most "\");"
    print "\n"
    printf "static const ngx_guildlog_event_when_t  whens[] =\n%s", \
           list_c(when_c, whens)
    printf "\n\nstatic const ngx_guildlog_event_set_t  sets[] =\n%s", \
           list_c(set_c, sets)
    printf "\n\nstatic const ngx_guildlog_event_row_t  rows[] =\n%s", \
           list_c(rows_c, rows)
    printf "\n\nstatic const ngx_guildlog_event_need_t  needs[] =\n%s", \
           list_c(need_c, needed)
    printf "%s%s", kinds_c("gateway"), kinds_c("audit")
    printf "\n\nconst ngx_guildlog_event_kind_t  " \
           "ngx_guildlog_event_audit_any =\n    %s;\n", kind_c("audit *")
    printf "\n\nconst char *const  ngx_guildlog_event_untold[] =\n" \
           "{\n%s    NULL\n};\n", untolds
}
