
/*
 * Links ngx_guildlog_change.c, ngx_guildlog_change_data.c,
 * ngx_guildlog_json.c, ngx_guildlog_language.c, ngx_guildlog_language_data.c,
 * ngx_guildlog_message.c, ngx_guildlog_message_body.c,
 * ngx_guildlog_message_text.c, ngx_guildlog_message_item.c,
 * ngx_guildlog_message_parts.c, ngx_guildlog_utf8.c and ngx_guildlog_value.c.
 *
 * Whatever an entry holds, its message is one that the platform takes, and
 * nothing in it is rendered, mentions anybody or becomes a link that we did
 * not write.  Entries are packed in order, and a retry has the same bytes.
 */

#include "base/ngx_guildlog_json.h"
#include "base/ngx_guildlog.h"
#include "platform/ngx_guildlog_message_parts.h"
#include "tap.h"


#define ROUNDS    250
#define ENTRIES   14
#define DOC       (1 << 16)
#define CONTENT   4000

#define ID        "123456789012345678"

#define ALERT "{\"id\":\"12\",\"type\":101,\"timestamp\":0,"                  \
              "\"executor\":{\"id\":\"0\",\"name\":\"API\"},"                 \
              "\"target\":{\"id\":\"7\",\"name\":\"A\"},\"name\":\"R\","      \
              "\"count\":5,\"action\":\"alert\",\"value\":\"5 in 30 s\""


static const ngx_guildlog_message_style_t  style = {
    ngx_string("https://support.example/x"),
    ngx_string("https://log.example/viewer/"), 0
};

static const ngx_guildlog_message_style_t  bare;
static const ngx_guildlog_message_style_t  categories = {
    ngx_null_string, ngx_null_string, 1
};

/* of build() */
static const ngx_guildlog_message_style_t  *worn = &style;

static uint64_t     seed;
static ngx_pool_t  *pool;


/* parts of hostile entries; no id in them is an id of the entry itself */

static const char  *pieces[] = {
    "@everyone", "@here", "<@4242424242>", "<@!4242424242>", "<@&4242424242>",
    "<#4242424242>", "<:evil:4242424242>", "<a:evil:4242424242>",
    "</evil:4242424242>", "<t:4242424242:x>", "<t:1754000000:R>",
    "<@" ID ">", "<@&" ID ">", "<#" ID ">", "<:good:" ID ">", "<a:good:" ID ">",
    "https://evil.example/x",
    "http://\u200bevil.example", "discord.gg/evil", "discord.\u200bgg/evil",
    "[text](https://evil.example)", "||", "|", "```", "``", "`", "```c\nx```",
    "**", "*", "__", "_", "~~", "\\", "\\\\", "\\|", "> ", ">>> ", "# ", "-# ",
    "- ", "1. ", "\n", "\r\n", "\n\n\n\n", "\t", " ", "   ", "\u2026",
    "\u202e", "\u202a", "\u2066", "\u2069", "\u200b", "\u200c", "\u200d",
    "\u200e", "\u200f", "\u061c", "\ufeff", "\u00ad", "\u2028", "\u2029",
    "\u3000", "\u00a0", "\u2800", "\u3164", "\ufe0f", "\x01", "\x1b", "\x7f",
    "\U000e0041", "\U0001f600", "\U0010ffff", "\U0001f469\u200d\U0001f4bb",
    "e\u0301", "\u05d0\u05d1", "\u0627\u0644", "\u4e2d\u6587", "word", "a", "9",
    "\"", "{", "}", "'", "@", "<", ":", "&", "-#", "#"
};

#define PIECES  (sizeof(pieces) / sizeof(pieces[0]))


/* neither in what the platform renders, nor in the label of a button */

static const char  *never_sent[] = {
    "\u202e", "\u202a", "\u2066", "\u2069", "\u200b", "\u200e", "\u200f",
    "\u061c", "\ufeff", "\u00ad", "\u2028", "\u2029", "\u2800", "\u3164",
    "\U000e0041", "\x7f", "\\u00"
};

/* where it is neither code nor behind a backslash */

static const char  *never_rendered[] = {
    "<@4242424242", "<@!4", "<@&4", "<#4242424242", "<:evil:4", "<a:evil:4",
    "<t:4242424242:x", "</evil", "https://evil", "evil.example", "discord.gg"
};

/* ends what we set apart in the language that is read from the right */

#define APART           "\u2069"
#define ARABIC          16

#define NEVER_SENT      (sizeof(never_sent) / sizeof(never_sent[0]))
#define NEVER_RENDERED  (sizeof(never_rendered) / sizeof(never_rendered[0]))


static ngx_uint_t
has(const ngx_str_t *body, const char *text)
{
    return memmem(body->data, body->len, text, strlen(text)) != NULL;
}


static ngx_uint_t
draw(ngx_uint_t n)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;

    return (ngx_uint_t) ((seed >> 33) % n);
}


/* a text of at most that many code points; sometimes of exactly that many */

static json_t *
hostile(ngx_uint_t max)
{
    static char  text[4 * CONTENT + 1];

    size_t       len;
    ngx_uint_t   n, only;
    const char  *piece;

    if (draw(6) == 0) {
        return draw(2) ? json_null() : json_string("");
    }

    if (draw(3)) {
        max = draw(max);
    }

    only = draw(5) ? PIECES : draw(PIECES);
    len = 0;

    for ( ;; ) {
        piece = pieces[only < PIECES ? only : draw(PIECES)];
        n = ngx_guildlog_utf8_length((u_char *) piece, strlen(piece));

        if (n > max) {
            break;
        }

        max -= n;
        memcpy(text + len, piece, strlen(piece));
        len += strlen(piece);
    }

    return json_stringn(text, len);
}


static json_t *
named(void)
{
    char  id[32];

    if (draw(4) == 0) {
        return json_null();
    }

    snprintf(id, sizeof(id), "%u%09u", (unsigned) draw(8) + 5,
             (unsigned) draw(1000000000));

    return json_pack("{s:s,s:o}", "id", draw(8) ? id : "0",
                     "name", hostile(100));
}


static json_t *
messages(void)
{
    json_t     *list, *message, *files;
    ngx_uint_t  n, i;

    static const ngx_uint_t  sizes[] = { 0, 0, 1, 1, 2, 5, 100 };

    list = json_array();

    for (n = sizes[draw(7)]; n; n--) {
        files = json_array();

        for (i = draw(4) ? 0 : draw(11); i; i--) {
            json_array_append_new(files,
                json_pack("{s:o,s:I}", "name", hostile(100), "size",
                          (json_int_t) draw(1 << 30) << draw(30)));
        }

        message = json_pack("{s:s,s:o,s:s,s:o}", "id", "8000000001",
                            "content", hostile(draw(4) ? 50 : CONTENT),
                            "authorId", draw(4) ? "7000000001" : "none",
                            "attachments", files);
        json_array_append_new(list, message);
    }

    return list;
}


static json_t *
changes(void)
{
    json_t      *list;
    ngx_uint_t   n;

    static const char  *keys[] = {
        "nick", "topic", "color", "permissions", "$add", "afk_channel_id",
        "communication_disabled_until", "rate_limit_per_user", "nsfw", "@x*"
    };

    if (draw(2)) {
        return json_null();
    }

    list = json_array();

    for (n = draw(26); n; n--) {
        json_array_append_new(list,
            json_pack("{s:s,s:o,s:o}", "key", keys[draw(10)],
                      "old", draw(2) ? hostile(1024)
                                     : json_integer(draw(1 << 30)),
                      "new", draw(4) ? hostile(1024)
                             : draw(2) ? json_true()
                             : json_pack("[{s:s,s:o}]", "id", "5000000002",
                                         "name", hostile(100))));
    }

    return list;
}


static json_t *
picture(void)
{
    return draw(4) ? json_null()
           : json_pack("{s:s,s:o}", "before", "https://image.example/a.png",
                       "after", draw(2) ? json_null()
                                        : json_string("https://x/)[x](y"));
}


/* no longer than an entry may be, as the store writes it */

static void
entry(ngx_guildlog_message_entry_t *e, ngx_uint_t id)
{
    char    *text, number[32];
    json_t  *json;

    static const json_int_t  times[] = {
        1754000000123, 0, -1, INT64_MAX, INT64_MIN, 253402300799999
    };

    for ( ;; ) {
        snprintf(number, sizeof(number), "9%018u", (unsigned) id);

        json = json_pack("{s:s,s:i,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,"
                         "s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}",
                         "id", number, "type", (int) draw(102),
                         "timestamp", times[draw(4) ? 0 : draw(6)],
                         "executor", named(), "target", named(),
                         "channel", named(), "role", hostile(100),
                         "name", hostile(100), "reason", hostile(600),
                         "count", draw(2) ? json_integer(INT64_MIN)
                                          : json_null(),
                         "content", hostile(CONTENT),
                         "contentAfter", hostile(CONTENT),
                         "messages", messages(),
                         "messagesTruncated", draw(2) ? json_integer(INT64_MAX)
                                                      : json_null(),
                         "emoji", draw(2) ? named() : json_null(),
                         "action", hostile(512), "value", hostile(512),
                         "changes", changes(),
                         "until", draw(2) ? json_null()
                                          : json_integer(times[draw(6)]),
                         "role_id", draw(2) ? json_null()
                                            : json_string("5000000001"),
                         "image", picture());

        text = json_dumps(json, JSON_COMPACT);
        json_decref(json);

        if (strlen(text) < DOC) {
            break;
        }

        free(text);
    }

    e->doc.len = strlen(text) - 1;
    e->doc.data = ngx_pnalloc(pool, e->doc.len);
    memcpy(e->doc.data, text, e->doc.len);
    free(text);
}


static void
conf(ngx_guildlog_message_conf_t *c)
{
    ngx_memzero(c, sizeof(ngx_guildlog_message_conf_t));

    c->style = &style;
    c->format = draw(4);
    c->color = draw(2) ? -1 : (ngx_int_t) draw(0x1000000);
    c->spoilers = draw(2);
    c->locale = draw(19);
    c->buttons = draw(3) ? 0 : draw(8);
    c->guild = tap_str("123456789012345678");
}


/* as the platform counts: UTF-16 units, without the blanks around */

static ngx_uint_t
units(const char *s)
{
    ngx_uint_t   n, trailing;
    ngx_uint_t   started;

    n = 0;
    trailing = 0;
    started = 0;

    for ( /* void */ ; *s; s++) {
        if ((*s & 0xc0) == 0x80) {
            continue;
        }

        if (*s == ' ' || *s == '\n') {
            n += started;
            trailing += started;
            continue;
        }

        started = 1;
        trailing = 0;
        n += ((u_char) *s >= 0xf0) ? 2 : 1;
    }

    return n - trailing;
}


static ngx_uint_t
fits(json_t *object, const char *key, ngx_uint_t max, ngx_uint_t *sum)
{
    json_t      *value;
    ngx_uint_t   n;

    value = json_object_get(object, key);

    if (value == NULL) {
        return 1;
    }

    n = units(json_string_value(value));
    *sum += n;

    return n >= 1 && n <= max;
}


/* "<", what may stand in it, ">": of ours; the length, 0: it is none */

static size_t
markup(const char *s)
{
    size_t  n;

    static const char  *begins[] = { "<@&", "<@", "<#", "<t:", "<:", "<a:" };

    for (n = 0; n < 6; n++) {
        if (strncmp(s, begins[n], strlen(begins[n])) == 0) {
            break;
        }
    }

    if (n == 6) {
        return 0;
    }

    n = strlen(begins[n]);
    n += strspn(s + n, "abcdefghijklmnopqrstuvwxyz0123456789_:FR");

    return s[n] == '>' ? n + 1 : 0;
}


/* code in backticks, as the platform finds it; the length, 0: there is none */

static size_t
code(const char *s)
{
    size_t  n;
    char   *end;

    if (strncmp(s, "```", 3) == 0) {
        end = strstr(s + 3, "```");
        return end ? end + 3 - s : 0;
    }

    n = 1 + strcspn(s + 1, "`\n");

    return n > 1 && s[n] == '`' && s[n + 1] != '`' ? n + 1 : 0;
}


/* a link of ours: its words, and where it leads; the length, 0: it is none */

static size_t
own_link(const char *s)
{
    size_t       n, i;
    const char  *end;

    static const char  *begins[] = {
        "](<https://discord.com/channels/", "](<https://log.example/",
        "](<https://image.example/"
    };

    n = strcspn(s, "]\n\\");

    for (i = 0; i < 3; i++) {
        if (strncmp(s + n, begins[i], strlen(begins[i])) == 0) {
            end = strstr(s + n, ">)");
            return end ? end + 2 - s : 0;
        }
    }

    return 0;
}


/*
 * What is neither code nor behind a backslash is ours: "**", mentions, emoji
 * and times, in plain text the "> " of quotes and the "-# " of the last line,
 * and "||" in pairs.
 */

static ngx_uint_t
harmless(const char *s, ngx_uint_t spoilers, ngx_uint_t plain)
{
    size_t       n;
    ngx_uint_t   marks, line, i;
    const char  *p;

    marks = 0;
    line = 1;

    for (p = s; *p; p += n) {
        n = 1;

        for (i = 0; i < NEVER_RENDERED; i++) {
            if (strncmp(p, never_rendered[i], strlen(never_rendered[i])) == 0) {
                printf("# at %s\n", p);
                return 0;
            }
        }

        switch (*p) {

        case '\\':
            n = (p[1] && strchr("\\*_~|`<>[]:#-.", p[1])) ? 2 : 0;
            break;

        case '*':
            n = (p[1] == '*') ? 2 : 0;
            break;

        case '|':
            n = (p[1] == '|' && spoilers) ? 2 : 0;
            marks++;
            break;

        case '`':
            n = code(p);
            break;

        case '[':
            n = own_link(p);
            break;

        case '<':
            n = markup(p);
            break;

        case '>':
            n = line && plain && p[1] == ' ' ? 2 : 0;
            break;

        case '-':
            n = (!line || (p[1] >= '0' && p[1] <= '9')) ? 1
                : (plain && strncmp(p, "-# 9", 4) == 0) ? 4 : 0;
            break;

        case '#':    /* a color */
            n = !line && strspn(p + 1, "0123456789abcdef") >= 6 ? 7 : 0;
            break;

        case '~':
        case '_':
        case ']':
            n = 0;
            break;
        }

        if (n == 0) {
            printf("# at %.60s, behind %.40s\n", p,
                   p - ngx_min(p - s, 40));
            return 0;
        }

        line = (p[n - 1] == '\n' || (line && *p == '>'));
    }

    return marks % 2 == 0;
}


static ngx_uint_t
quiet(json_t *body)
{
    json_t      *mentions;
    ngx_uint_t   ok;

    mentions = json_pack("{s:[]}", "parse");
    ok = json_equal(json_object_get(body, "allowed_mentions"), mentions)
         && json_integer_value(json_object_get(body, "flags")) == 4096;
    json_decref(mentions);

    return ok;
}


static ngx_uint_t
valid_embed(json_t *embed, const ngx_guildlog_message_entry_t *e,
    ngx_uint_t *sum)
{
    size_t      i;
    json_t     *field, *fields;
    ngx_uint_t  ok, spoilers;

    spoilers = e->conf.spoilers;
    fields = json_object_get(embed, "fields");

    ok = fits(embed, "title", 256, sum)
         && fits(json_object_get(embed, "author"), "name", 256, sum)
         && fits(embed, "description", 4096, sum)
         && fits(json_object_get(embed, "footer"), "text", 2048, sum)
         && (json_object_get(embed, "title") != NULL
             || json_object_get(embed, "description") != NULL)
         && json_array_size(fields) <= 25
         && strlen(json_string_value(json_object_get(embed, "timestamp")))
            == sizeof("1970-01-01T00:00:00.000Z") - 1
         && json_integer_value(json_object_get(embed, "color")) >= 0
         && json_integer_value(json_object_get(embed, "color")) <= 0xffffff;

    if (json_object_get(embed, "description")) {
        ok &= harmless(json_string_value(json_object_get(embed,
                                                         "description")),
                       spoilers, 0);
    }

    json_array_foreach(fields, i, field) {
        ok &= json_object_size(field) == 3
              && fits(field, "name", 256, sum)
              && fits(field, "value", 1024, sum)
              && harmless(json_string_value(json_object_get(field, "value")),
                          spoilers, 0);
    }

    return ok;
}


static ngx_uint_t
valid_row(json_t *row)
{
    size_t       i;
    json_t      *buttons, *button;
    ngx_uint_t   ok, sum;
    const char  *url;

    buttons = json_object_get(row, "components");

    ok = json_integer_value(json_object_get(row, "type")) == 1
         && json_array_size(buttons) >= 1 && json_array_size(buttons) <= 5;

    json_array_foreach(buttons, i, button) {
        url = json_string_value(json_object_get(button, "url"));

        ok &= json_integer_value(json_object_get(button, "type")) == 2
              && json_integer_value(json_object_get(button, "style")) == 5
              && fits(button, "label", 80, &sum)
              && strncmp(url, "https://", 8) == 0
              && strlen(url) <= 512
              && strspn(url, "abcdefghijklmnopqrstuvwxyz0123456789:/.#?=&")
                 == strlen(url);
    }

    return ok;
}


static ngx_uint_t
valid_buttons(json_t *body)
{
    size_t      i;
    json_t     *rows, *row;
    ngx_uint_t  ok;

    rows = json_object_get(body, "components");

    if (rows == NULL) {
        return 1;
    }

    ok = json_array_size(rows) >= 1 && json_array_size(rows) <= 5;

    json_array_foreach(rows, i, row) {
        ok &= valid_row(row);
    }

    return ok;
}


/* the ids, each once and in order */

static ngx_uint_t
in_order(json_t *body, const ngx_guildlog_message_entry_t *e, ngx_uint_t n)
{
    char         id[32];
    ngx_uint_t   i;
    const char  *p, *text;

    p = json_string_value(json_object_get(body, "content"));

    for (i = 0; i < n; i++) {
        snprintf(id, sizeof(id), "\n-# %.19s ", e[i].doc.data + 7);

        if (p) {
            p = strstr(p, id);

            if (p++ == NULL) {
                return 0;
            }

            continue;
        }

        id[23] = '\0';
        text = json_string_value(json_object_get(json_object_get(
                   json_array_get(json_object_get(body, "embeds"), i),
                   "footer"), "text"));

        if (text == NULL || strcmp(text, id + 4) != 0) {
            return 0;
        }
    }

    return p ? strstr(p, "\n-# 9") == NULL
             : json_array_size(json_object_get(body, "embeds")) == n;
}


/* returns what is wrong, or NULL */

static const char *
wrong(const ngx_str_t *text, const ngx_guildlog_message_entry_t *e,
    ngx_uint_t packed)
{
    size_t       i;
    json_t      *body, *embeds;
    ngx_str_t    error, payload;
    ngx_uint_t   sum, spoilers, apart;
    const char  *content;

    payload = *text;

    if (text->data[0] == '-') {
        payload.data = (u_char *) memmem(text->data, text->len, "\r\n\r\n{", 5)
                       + 4;
        payload.len = (u_char *) memmem(payload.data, text->data + text->len
                                                      - payload.data,
                                        "\r\n--", 4)
                      - payload.data;
    }

    text = &payload;

    body = ngx_guildlog_json_parse(pool, text, &error);
    embeds = json_object_get(body, "embeds");
    content = json_string_value(json_object_get(body, "content"));

    if (body == NULL) {
        return "JSON";
    }

    for (i = 0, apart = 0; i < packed; i++) {
        apart |= e[i].conf.locale == ARABIC;
    }

    for (i = 0; i < NEVER_SENT; i++) {
        if (has(text, never_sent[i])
            && !(apart && strcmp(never_sent[i], APART) == 0))
        {
            return never_sent[i];
        }
    }

    if (!quiet(body)) {
        return "mentions or flags";
    }

    if (!valid_buttons(body)) {
        return "buttons";
    }

    if (!in_order(body, e, packed)) {
        return "order";
    }

    sum = 0;

    if (content) {
        for (i = 0, spoilers = 0; i < packed; i++) {
            spoilers |= e[i].conf.spoilers;
        }

        return !fits(body, "content", 2000, &sum) ? "content"
               : !harmless(content, spoilers, 1) ? "harm in content"
               : embeds ? "embeds and content" : NULL;
    }

    if (json_array_size(embeds) < 1 || json_array_size(embeds) > 10) {
        return "number of embeds";
    }

    for (i = 0; i < json_array_size(embeds); i++) {
        if (!valid_embed(json_array_get(embeds, i), &e[i], &sum)) {
            return "embed";
        }
    }

    return sum <= 6000 ? NULL : "sum of embeds";
}


static ngx_int_t
made(const ngx_guildlog_message_entry_t *e, ngx_uint_t n, ngx_str_t *text,
    ngx_uint_t *packed)
{
    ngx_int_t                    rc;
    ngx_guildlog_message_body_t  body;

    rc = ngx_guildlog_message_build(pool, e, n, &body, packed);
    *text = body.text;

    return rc;
}


/* what is wrong with a message of the first entries, NULL: nothing */

static const char *
round_of(const ngx_guildlog_message_entry_t *e, ngx_uint_t n)
{
    ngx_str_t    body, other;
    ngx_uint_t   packed, k, m;
    const char  *what;

    if (made(e, n, &body, &packed) != NGX_OK
        || packed < 1 || packed > n)
    {
        return "packed";
    }

    what = wrong(&body, e, packed);

    if (what) {
        return what;
    }

    for (k = 1; k <= n; k++) {
        if (made(e, k, &other, &m) != NGX_OK
            || m != ngx_min(k, packed))
        {
            return "prefix";
        }

        if (k >= packed && (other.len != body.len
                            || memcmp(other.data, body.data, body.len) != 0))
        {
            return "bytes";
        }
    }

    return NULL;
}


static void
test_hostile(void)
{
    ngx_uint_t                     i, j, n, bad, plain, several;
    ngx_str_t                      body;
    const char                    *what;
    ngx_guildlog_message_conf_t    shared;
    ngx_guildlog_message_entry_t   e[ENTRIES];

    bad = 0;
    plain = 0;
    several = 0;

    for (i = 0; i < ROUNDS; i++) {
        pool = tap_pool();
        seed = i;

        conf(&shared);
        n = 1 + draw(ENTRIES);

        for (j = 0; j < n; j++) {
            entry(&e[j], j);

            e[j].conf = shared;

            if (draw(10) == 0) {
                conf(&e[j].conf);
            }
        }

        what = round_of(e, n);

        if (what) {
            bad++;
            printf("# seed %u: %s\n", (unsigned) i, what);
        }

        if (made(e, n, &body, &j) == NGX_OK) {
            several += j > 1;
            plain += e[0].conf.format >= 2;
        }

        ngx_destroy_pool(pool);
    }

    tap_is(bad, 0, "hostile entries make messages that the platform takes");
    tap_ok(several > ROUNDS / 10, "many of them of several entries");
    tap_ok(plain > ROUNDS / 4 && plain < ROUNDS * 3 / 4,
           "plain ones and embeds");
}


typedef struct {
    const char   *what;
    const char   *in;
    const char   *out;
    ngx_uint_t    max;
    ngx_uint_t    flags;
} text_case_t;


#define MD     NGX_GUILDLOG_MESSAGE_TEXT_MARKDOWN
#define LINES  (MD | NGX_GUILDLOG_MESSAGE_TEXT_LINES)
#define QUOTE  (LINES | NGX_GUILDLOG_MESSAGE_TEXT_QUOTE)
#define SAID   (LINES | NGX_GUILDLOG_MESSAGE_TEXT_SAID)
#define BRIEF  (MD | NGX_GUILDLOG_MESSAGE_TEXT_SAID)
#define CITED  (SAID | NGX_GUILDLOG_MESSAGE_TEXT_QUOTE)
#define HIDING (SAID | NGX_GUILDLOG_MESSAGE_TEXT_SPOILER)


static const text_case_t  texts[] = {
    { "is as it was", "plain words, 3 of them!", "plain words, 3 of them!",
      100, MD },
    { "bold is not", "**a**", "\\*\\*a\\*\\*", 100, MD },
    { "a fence is broken", "```x", "\\`\\`\\`x", 100, MD },
    { "a backslash does not free the next", "\\*", "\\\\\\*", 100, MD },
    { "nobody is mentioned", "<@1> @everyone",
      "\\<@1\\> @everyone", 100, MD },
    { "an address is no link", "see https://a.b/c",
      "see https\\://a\\.b/c", 100, MD },
    { "nor without a scheme", "discord.\u200bgg/x", "discord\\.gg/x", 100,
      MD },
    { "a list only at the start", "- a - b", "\\- a - b", 100, MD },
    { "of every line", "a\n# b\n- c\n1. d", "a\n\\# b\n\\- c\n1\\. d", 100,
      LINES },
    { "lines become one", "a\nb\r\n\r\n\r\nc", "a b c", 100, MD },
    { "or stay lines", "a\nb\r\n\r\n  c", "a\nb\n\n  c", 100, LINES },
    { "with three empty ones at most", "a\n\n\n\n\n\n\nb", "a\n\n\n\nb", 100,
      LINES },
    { "so do blanks", "a  b\t|\u3000c", "a  b\t\\|\u3000c", 100, LINES },
    { "an item of a list that is far in", "a\n  - b", "a\n  \\- b", 100,
      LINES },
    { "quoted in every line", "a\n\n> b", "a\n> \n> \\> b", 100, QUOTE },
    { "no way is written backwards", "\u202eabc\u202c", "abc", 100, MD },
    { "a joined emoji stays", "\U0001f469\u200d\U0001f4bb",
      "\U0001f469\u200d\U0001f4bb", 100, MD },
    { "one joiner is enough", "a\u200d\u200d\u200db", "a\u200db", 100, MD },
    { "none without something", "\u200d\ufe0f", "", 100, MD },
    { "nothing to see", " \n\u200b\u3000\u2800\t", "", 100, MD },
    { "blanks around go", "  a  b  ", "a b", 100, MD },
    { "no markdown where it is not rendered", "a_b*c <@1>", "a_b*c <@1>",
      100, 0 },
    { "what fits is not cut", "abcde", "abcde", 5, MD },
    { "what does not is marked", "abcdef", "abcd\u2026", 5, MD },
    { "no blank before the mark", "abc def", "abc\u2026", 5, MD },
    { "two units are not parted", "abc\U0001f600x", "abc\u2026", 5, MD },
    { "they fit as two", "abc\U0001f600", "abc\U0001f600", 5, MD },
    { "nor a backslash from its character", "abc*d", "abc\u2026", 5, MD },
    { "nothing but the mark", "ab", "\u2026", 1, MD },
    { "nothing at all", "ab", "", 0, MD },
    { "blanks do not count at the end", "abcde   ", "abcde", 5, MD },

    { "people are named", "<@" ID "> and <@!" ID ">",
      "<@" ID "> and <@!" ID ">", 100, SAID },
    { "roles and channels, too", "<@&" ID "><#" ID ">", "<@&" ID "><#" ID ">",
      100, BRIEF },
    { "emoji are shown", "<:a_1:" ID "> <a:bb:" ID ">",
      "<:a_1:" ID "> <a:bb:" ID ">", 100, SAID },
    { "times are told", "<t:1754000000> <t:0:R>", "<t:1754000000> <t:0:R>", 100,
      SAID },
    { "but nothing that only looks so", "<@1> <t:> <t:1:x> <:a:" ID "> </a:" ID
      ">", "\\<@1\\> \\<t\\:\\> \\<t\\:1\\:x\\> \\<\\:a\\:" ID
      "\\> \\</a\\:" ID "\\>", 150, SAID },
    { "nor what they wrote as text", "\\<@" ID "> \\`a`",
      "\\\\\\<@" ID "\\> \\\\\\`a\\`", 100, SAID },
    { "a mention is whole or not there", "a <@" ID ">", "a\u2026", 20, SAID },
    { "one of nobody, nowhere cut", "<@" ID, "\\<@" ID, 100, SAID },

    { "code is code", "x `a_b <@1>` *y*", "x `a_b <@1>` \\*y\\*", 100, SAID },
    { "in lines, with what is in front of them",
      "```py\nif x:\n    return 1\n```", "```py\nif x:\n    return 1```", 100,
      SAID },
    { "quoted, too", "```\na\n  b```", "```\n> a\n>   b```", 100, CITED },
    { "what does not end is text", "```a", "\\`\\`\\`a", 100, SAID },
    { "so is a lone one", "a ` b", "a \\` b", 100, SAID },
    { "and nothing in them", "`` ``` ```", "\\`\\` \\`\\`\\` \\`\\`\\`",
      100, SAID },
    { "it ends where the platform ends it", "```a````*b*", "```a```\\`\\*b\\*",
      100, SAID },
    { "and does so if it is cut", "```abcdefgh```", "```abc\u2026```", 10,
      SAID },
    { "or is not begun", "ab ```abcdefgh```", "ab\u2026", 10, SAID },
    { "in one line there are no lines of it", "```a\nb```",
      "\\`\\`\\`a b\\`\\`\\`", 100, BRIEF },
    { "what is left out cannot end it", "```a``\u200b`*b*```",
      "\\`\\`\\`a\\`\\`\\`\\*b\\*\\`\\`\\`", 100, SAID },
    { "nor blanks that are", "```a`` ```*b*",
      "\\`\\`\\`a\\`\\` \\`\\`\\`\\*b\\*",
      100, SAID },
    { "nor make it of two", "`a`\u200b```b```",
      "`a`\\`\\`\\`b\\`\\`\\`", 100, SAID },
    { "and it cannot end a spoiler", "`a||b` `c`", "\\`a\\|\\|b\\` `c`", 100,
      HIDING }
};


static void
test_texts(void)
{
    ngx_str_t                    in, out;
    ngx_uint_t                   i, n;
    ngx_guildlog_message_text_t  text;

    pool = tap_pool();

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        (void) ngx_guildlog_message_text_init(&text, pool, 200);

        in = tap_str(texts[i].in);
        n = ngx_guildlog_message_text_user(&text, &in, texts[i].max,
                                           texts[i].flags);

        out.data = text.start;
        out.len = text.pos - text.start;

        tap_is_str(&out, texts[i].out, texts[i].what);
        tap_ok(n == ngx_guildlog_message_text_units(out.data, out.len)
               && n == 200 - text.left, "and it is counted");
    }

    ngx_destroy_pool(pool);
}


/* entries of few words; NULL: it is refused */

static const char *
build(ngx_uint_t n, const char **docs, ngx_uint_t format, ngx_uint_t buttons,
    ngx_uint_t *packed)
{
    ngx_str_t                      body;
    ngx_uint_t                     i;
    ngx_guildlog_message_entry_t   e[32];

    ngx_memzero(e, sizeof(e));

    for (i = 0; i < n; i++) {
        e[i].doc = tap_str(docs[i]);
        e[i].conf.style = worn;
        e[i].conf.format = format;
        e[i].conf.color = -1;
        e[i].conf.buttons = buttons;
        e[i].conf.guild = tap_str("123456789012345678");
    }

    if (made(e, n, &body, packed) != NGX_OK) {
        return NULL;
    }

    body.data[body.len] = '\0';

    return (char *) body.data;
}


static ngx_uint_t
count(const char *text, const char *piece)
{
    ngx_uint_t  n;

    for (n = 0; (text = strstr(text, piece)) != NULL; n++) {
        text++;
    }

    return n;
}


static void
test_packing(void)
{
    ngx_uint_t                     i, packed;
    const char                    *docs[12], *body;
    ngx_str_t                      s;
    ngx_guildlog_message_entry_t   e[3];

    pool = tap_pool();

    for (i = 0; i < 12; i++) {
        docs[i] = "{\"id\":\"1\",\"type\":5,\"timestamp\":1,"
                  "\"executor\":{\"id\":\"7\",\"name\":\"x\"}";
    }

    (void) build(12, docs, 0, 0, &packed);
    tap_is(packed, 10, "ten embeds a message");

    (void) build(12, docs, 2, 0, &packed);
    tap_is(packed, 10, "of plain text, too");

    for (i = 0; i < 12; i++) {
        docs[i] = "{\"id\":\"1\",\"type\":5,\"timestamp\":1,"
                  "\"executor\":{\"id\":\"7\",\"name\":\"x\"},"
                  "\"target\":{\"id\":\"8\",\"name\":\"y\"}";
    }

    for (i = 0; i < 4; i++) {
        body = build(1, docs, i, 7, &packed);
        tap_ok(count(body, "\"style\":5") == 4,
               "format %u: an entry alone has all buttons", (unsigned) i);
        tap_is(count(body, "{\"type\":1,"), 1, "  in one row");

        body = build(2, docs, i, 7, &packed);
        tap_ok(packed == 2 && !strstr(body, "components"),
               "  two have none: whose would they be?");
        tap_is(count(body, "](<https://log.example/viewer/#/logs?")
               + count(body, "\"url\":\"https://log.example/viewer/#/logs?"), 2,
               "  each leads to its place in the log");
    }

    body = build(2, docs, 2, 0, &packed);
    tap_is(count(body, "\\n\\n**Message deleted**"), 1,
           "an empty line parts entries of plain text");

    ngx_memzero(e, sizeof(e));

    for (i = 0; i < 3; i++) {
        e[i].doc = tap_str(docs[i]);
        e[i].conf.style = &style;
        e[i].conf.guild = tap_str("1");
    }

    e[2].conf.buttons = NGX_GUILDLOG_BUTTON_CUSTOMISE;
    (void) made(e, 3, &s, &packed);
    tap_is(packed, 3, "entries with and without go together");

    e[1].conf.format = NGX_GUILDLOG_FORMAT_COMPACT_EMBED;
    (void) made(e, 3, &s, &packed);
    tap_is(packed, 3, "embeds of both kinds go together");

    e[1].conf.format = NGX_GUILDLOG_FORMAT_PLAIN;
    (void) made(e, 3, &s, &packed);
    tap_is(packed, 1, "embeds and text do not");

    docs[1] = ALERT;
    (void) build(3, docs, 0, 0, &packed);
    tap_is(packed, 3, "an alert that mentions nobody goes with others");

    docs[1] = ALERT ",\"role_id\":\"34\"";
    (void) build(3, docs, 0, 0, &packed);
    tap_is(packed, 1, "one that mentions a role does not go behind them");

    (void) build(2, &docs[1], 2, 0, &packed);
    tap_is(packed, 1, "nor do they behind it");

    docs[1] = "{\"id\":\"1\",\"type\":";
    (void) build(3, docs, 0, 0, &packed);
    tap_is(packed, 1, "what is no entry waits for its own message");

    docs[0] = docs[1];
    tap_ok(build(3, docs, 0, 0, &packed) == NULL, "and is refused there");

    docs[0] = "{\"id\":\"1\",\"type\":102";
    tap_ok(build(1, docs, 0, 0, &packed) == NULL, "so is an unknown type");

    docs[0] = "{\"id\":\"1\"";
    tap_ok(build(1, docs, 0, 0, &packed) == NULL, "or none");

    docs[0] = "{\"type\":1,\"id\":\"x\"";
    tap_ok(build(1, docs, 0, 0, &packed) == NULL, "or one without an id");

    body = build(1, docs + 2, 0, NGX_GUILDLOG_BUTTON_SUPPORT_SERVER, &packed);
    tap_ok(body && strstr(body, "\"https://support.example/x\"")
           && count(body, "\"style\":5") == 1,
           "only the buttons that are asked for");

    ngx_destroy_pool(pool);
}


/* a message is found again by its entries' ids, whatever it quotes */

static void
test_names(void)
{
    json_t      *json, *embeds;
    ngx_str_t    content, footer, first, last, quoted;
    ngx_uint_t   format, packed;
    const char  *docs[2], *body;

    pool = tap_pool();

    docs[0] = "{\"id\":\"1234\",\"type\":5,\"timestamp\":1000,"
              "\"reason\":\"777\",\"content\":\"a\\n-# 777 \xc2\xb7 "
              "<t:1:F>\"";
    docs[1] = "{\"id\":\"5678\",\"type\":5,\"timestamp\":1000,"
              "\"content\":\"-# 777 \xc2\xb7 <t:1:F>\"";

    first = tap_str("1234");
    last = tap_str("5678");
    quoted = tap_str("777");

    for (format = 0; format < 4; format++) {
        body = build(2, docs, format, 0, &packed);
        json = json_loads(body, 0, NULL);
        embeds = json_object_get(json, "embeds");

        content = ngx_guildlog_json_text(json_object_get(json, "content"));
        footer = ngx_guildlog_json_text(
                     json_object_get(json_object_get(json_array_get(embeds, 1),
                                                     "footer"), "text"));

        tap_is(packed, 2, "two entries");
        tap_ok(ngx_guildlog_message_names(&content, &footer, &last),
               "format %u: the last one is named", (unsigned) format);
        tap_is(ngx_guildlog_message_names(&content, &footer, &first),
               format >= NGX_GUILDLOG_FORMAT_PLAIN,
               "  in a text the first one, too");
        tap_ok(!ngx_guildlog_message_names(&content, &footer, &quoted),
               "  but not what they quote");

        last.len--;
        tap_ok(!ngx_guildlog_message_names(&content, &footer, &last),
               "  nor what one begins with");
        last.len = 0;
        tap_ok(!ngx_guildlog_message_names(&content, &footer, &last),
               "  nor nothing");
        last.len = 4;

        json_decref(json);
    }

    ngx_destroy_pool(pool);
}


/* two plain entries, together shorter and longer than a message */

static void
test_brim(void)
{
    char                           doc[2][2048];
    json_t                        *json;
    ngx_str_t                      body, error;
    ngx_uint_t                     i, n, packed, longest, wrong_ones;
    ngx_guildlog_message_entry_t   e[2];

    ngx_memzero(e, sizeof(e));
    longest = 0;
    wrong_ones = 0;

    for (i = 800; i < 1100; i++) {
        pool = tap_pool();

        for (n = 0; n < 2; n++) {
            snprintf(doc[n], sizeof(doc[n]),
                     "{\"id\":\"9\",\"type\":5,\"content\":\"%0*d\"",
                     (int) (n ? i : 900), 0);

            e[n].doc = tap_str(doc[n]);
            e[n].conf.style = &style;
            e[n].conf.guild = tap_str(ID);
            e[n].conf.format = NGX_GUILDLOG_FORMAT_PLAIN;
        }

        (void) made(e, 2, &body, &packed);

        json = ngx_guildlog_json_parse(pool, &body, &error);
        n = units(json_string_value(json_object_get(json, "content")));

        wrong_ones += (n > 2000) || (packed == 1 && longest < 2000);
        longest = ngx_max(longest, n);

        ngx_destroy_pool(pool);
    }

    tap_is(longest, 2000, "plain text fills a message to the brim");
    tap_is(wrong_ones, 0, "but not further");
}


static ngx_uint_t
units_of(json_t *json, const char *key)
{
    const char  *s;

    s = json_string_value(json_object_get(json, key));

    return s ? units(s) : 0;
}


/* what an embed has counts against its room, its labels included */

static void
test_room(void)
{
    json_t                        *json, *fields;
    size_t                         i;
    ngx_str_t                      body, error;
    ngx_int_t                      rc;
    ngx_uint_t                     room, left, n, over, most;
    ngx_guildlog_json_t            w;
    ngx_guildlog_message_item_t    item;
    ngx_guildlog_message_text_t    work;
    ngx_guildlog_message_entry_t   e;

    ngx_memzero(&e, sizeof(e));
    e.conf.style = &style;
    e.conf.guild = tap_str(ID);
    e.doc = tap_str("{\"id\":\"9\",\"type\":36,\"timestamp\":1,"
                    "\"executor\":{\"id\":\"1\",\"name\":\"a\"},"
                    "\"target\":{\"id\":\"2\",\"name\":\"b\"},"
                    "\"channel\":{\"id\":\"3\",\"name\":\"c\"},"
                    "\"role\":\"r\",\"name\":\"n\",\"reason\":\"w\","
                    "\"count\":2,\"action\":\"x\",\"value\":\"y\","
                    "\"content\":\"z\",\"contentAfter\":\"zz\"");
    over = 0;
    most = 0;

    for (room = 0; room < 400; room++) {
        pool = tap_pool();

        ngx_guildlog_json_init(&w, pool, 4096);
        (void) ngx_guildlog_message_text_init(&work, pool, 6000);
        work.left = room;
        left = room;

        rc = ngx_guildlog_message_item_read(&item, pool, &e);

        if (rc == NGX_OK) {
            rc = ngx_guildlog_message_embed(&item, pool, &work, &left, &w);
        }

        (void) ngx_guildlog_json_written(&w, &body);
        json = rc == NGX_OK ? ngx_guildlog_json_parse(pool, &body, &error)
                            : NULL;
        fields = json_object_get(json, "fields");

        n = units_of(json, "title") + units_of(json, "description")
            + units_of(json_object_get(json, "author"), "name")
            + units_of(json_object_get(json, "footer"), "text");

        for (i = 0; i < json_array_size(fields); i++) {
            n += units_of(json_array_get(fields, i), "name")
                 + units_of(json_array_get(fields, i), "value");
        }

        over += json == NULL || n > room || left > room;
        most = ngx_max(most, n);

        ngx_destroy_pool(pool);
    }

    tap_is(over, 0, "an embed fits into its room, whatever that is");
    tap_ok(most > 100, "and says much where there is room");
}


typedef struct {
    const char   *what;
    ngx_uint_t    format;
    const char   *doc;
    const char   *out;
} message_case_t;


#define TAIL  "],\"allowed_mentions\":{\"parse\":[]},\"flags\":4096}"
#define TEXT  "\",\"allowed_mentions\":{\"parse\":[]},\"flags\":4096}"
#define ROLE  "\",\"allowed_mentions\":{\"parse\":[],\"roles\":[\"34\"]},"    \
              "\"flags\":0}"


static const message_case_t  cases[] = {

    { "a deleted message", 0,
      "{\"id\":\"12\",\"type\":5,\"timestamp\":1754000000123,"
      "\"executor\":{\"id\":\"0\",\"name\":\"\"},"
      "\"target\":{\"id\":\"34\",\"name\":\"a_b\"},"
      "\"channel\":{\"id\":\"56\",\"name\":\"c\"},\"role\":null,"
      "\"content\":null,\"messages\":[{\"id\":\"1\",\"content\":\"hi *x*\","
      "\"timestamp\":1753990000000,"
      "\"attachments\":[{\"name\":\"a.png\",\"size\":2048}]}]",

      "{\"embeds\":[{\"author\":{\"name\":\"a_b\","
      "\"url\":\"https://discord.com/users/34\"},"
      "\"title\":\"Message deleted\","
      "\"description\":\"A message by <@34> was deleted in <#56>\\n"
      "hi \\\\*x\\\\*\","
      "\"timestamp\":\"2025-07-31T22:13:20.123Z\",\"color\":15548997,"
      "\"footer\":{\"text\":\"12\"},\"fields\":["
      "{\"name\":\"By\",\"value\":\"Dashboard or API\","
      "\"inline\":true},"
      "{\"name\":\"Sent\",\"value\":\"<t:1753990000:f>\","
      "\"inline\":true},"
      "{\"name\":\"Message ID\",\"value\":\"`1`\",\"inline\":true},"
      "{\"name\":\"Attachments\",\"value\":\"a\\\\.png (2.0 KB)\","
      "\"inline\":false}]}" TAIL },

    { "a changed role", 0,
      "{\"id\":\"12\",\"type\":33,\"timestamp\":0,"
      "\"executor\":{\"id\":\"7\",\"name\":\"A\"},"
      "\"role\":\"r\",\"role_id\":\"34\",\"changes\":["
      "{\"key\":\"name\",\"old\":\"q\",\"new\":\"r\"},"
      "{\"key\":\"color\",\"old\":0,\"new\":255}]",

      "{\"embeds\":[{\"author\":{\"name\":\"A\","
      "\"url\":\"https://discord.com/users/7\"},"
      "\"title\":\"Role changed\","
      "\"description\":\"<@7> changed the role <@&34>\\n"
      "**Name:** q \u2192 r\\n**Color:** none \u2192 #0000ff\","
      "\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"color\":15105570,"
      "\"footer\":{\"text\":\"12\"},\"fields\":[]}" TAIL },

    { "a picture", 1,
      "{\"id\":\"12\",\"type\":43,\"timestamp\":0,"
      "\"executor\":{\"id\":\"7\",\"name\":\"A\",\"avatar\":\"ff\"},"
      "\"target\":{\"id\":\"8\",\"name\":\"B\",\"avatar\":\"a_0f\"}",

      "{\"embeds\":[{\"author\":{\"name\":\"B\","
      "\"url\":\"https://discord.com/users/8\",\"icon_url\":"
      "\"https://cdn.discordapp.com/avatars/8/a_0f.png?size=64\"},"
      "\"description\":\"<@7> unbanned <@8>\","
      "\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"color\":5763719,"
      "\"footer\":{\"text\":\"12\"}}" TAIL },

    { "what is no hash of one", 1,
      "{\"id\":\"12\",\"type\":43,\"timestamp\":0,"
      "\"target\":{\"id\":\"8\",\"name\":\"B\",\"avatar\":\"../x\"}",

      "{\"embeds\":[{\"author\":{\"name\":\"B\","
      "\"url\":\"https://discord.com/users/8\"},"
      "\"description\":\"<@8> was unbanned\","
      "\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"color\":5763719,"
      "\"footer\":{\"text\":\"12\"}}" TAIL },

    { "a role that is gone", 0,
      "{\"id\":\"12\",\"type\":32,\"timestamp\":0,"
      "\"role\":\"r\",\"role_id\":\"34\"",

      "{\"embeds\":[{\"title\":\"Role deleted\","
      "\"description\":\"The role **r** was deleted\","
      "\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"color\":15548997,"
      "\"footer\":{\"text\":\"12\"},\"fields\":["
      "{\"name\":\"Role\",\"value\":\"`34`\",\"inline\":true}]}" TAIL },

    { "an edit, with the way to the message", 0,
      "{\"id\":\"12\",\"type\":7,\"timestamp\":0,"
      "\"executor\":{\"id\":\"7\",\"name\":\"A\"},"
      "\"channel\":{\"id\":\"56\",\"name\":\"c\"},"
      "\"content\":\"a\",\"contentAfter\":\"b\","
      "\"messages\":[{\"id\":\"1\"},{\"id\":\"1\"}]",

      "{\"embeds\":[{\"author\":{\"name\":\"A\","
      "\"url\":\"https://discord.com/users/7\"},"
      "\"title\":\"Message edited\","
      "\"description\":\"<@7> edited a message in <#56> \u00b7 [Go to message]"
      "(<https://discord.com/channels/" ID "/56/1>)\\n"
      "**Before**\\na\\n**After**\\nb\","
      "\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"color\":15105570,"
      "\"footer\":{\"text\":\"12\"},\"fields\":[]}" TAIL },

    { "one who changed their own name", 0,
      "{\"id\":\"12\",\"type\":25,\"timestamp\":0,"
      "\"executor\":{\"id\":\"7\",\"name\":\"A\"},"
      "\"target\":{\"id\":\"7\",\"name\":\"A\"},"
      "\"changes\":[{\"key\":\"nick\",\"old\":null,\"new\":\"B*\"}]",

      "{\"embeds\":[{\"author\":{\"name\":\"A\","
      "\"url\":\"https://discord.com/users/7\"},"
      "\"title\":\"Nickname changed\","
      "\"description\":\"<@7> changed their nickname\\n"
      "**Nickname:** B\\\\*\","
      "\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"color\":15105570,"
      "\"footer\":{\"text\":\"12\"},\"fields\":[]}" TAIL },

    { "a young account that joins", 1,
      "{\"id\":\"12\",\"type\":1,\"timestamp\":1754000000123,"
      "\"target\":{\"id\":\"1400000000000000000\",\"name\":\"A\"},"
      "\"count\":9",

      "{\"embeds\":[{\"author\":{\"name\":\"A\","
      "\"url\":\"https://discord.com/users/1400000000000000000\"},"
      "\"description\":\"<@1400000000000000000> joined the "
      "server \u00b7 **Members:** 9 \u00b7 **Account created:** "
      "\u26a0\ufe0f <t:1753856410:f> (<t:1753856410:R>)\","
      "\"timestamp\":\"2025-07-31T22:13:20.123Z\",\"color\":5763719,"
      "\"footer\":{\"text\":\"12\"}}" TAIL },

    { "many messages, with all of them as a file", 0,
      "{\"id\":\"12\",\"type\":3,\"timestamp\":0,\"messages\":["
      "{\"authorId\":\"7\",\"content\":\"a\\nb\"},"
      "{\"content\":\"c\",\"attachments\":[{}]}],\"messagesTruncated\":5",

      "--guildlog-12\r\n"
      "Content-Disposition: form-data; name=\"payload_json\"\r\n"
      "Content-Type: application/json\r\n\r\n"
      "{\"embeds\":[{\"title\":\"Messages bulk deleted\","
      "\"description\":\"Several messages were deleted\\n"
      "**Messages: 7**\\n<@7> a b\\n"
      "\u2022 c (\U0001f4ce 1)\\nand 5 more\","
      "\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"color\":15548997,"
      "\"footer\":{\"text\":\"12\"},\"fields\":["
      "{\"name\":\"Attachments\",\"value\":\"?\",\"inline\":false}]}" TAIL
      "\r\n--guildlog-12\r\n"
      "Content-Disposition: form-data; name=\"files[0]\"; "
      "filename=\"messages-12.txt\"\r\n"
      "Content-Type: text/plain; charset=utf-8\r\n\r\n"
      "author 7  \na\nb\n\n\nc\n[]\n\n\r\n--guildlog-12--\r\n" },

    { "a compact embed", 1,
      "{\"id\":\"12\",\"type\":39,\"timestamp\":0,"
      "\"executor\":{\"id\":\"7\",\"name\":\"A\"},"
      "\"target\":{\"id\":\"8\",\"name\":\"\"},\"reason\":\"bad\"",

      "{\"embeds\":[{\"description\":\"<@7> banned <@8>"
      "\\n**Reason:** bad\","
      "\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"color\":15548997,"
      "\"footer\":{\"text\":\"12\"}}" TAIL },

    { "an alert", 0,
      ALERT ",\"role_id\":\"34\"",

      "{\"embeds\":[{\"author\":{\"name\":\"A\","
      "\"url\":\"https://discord.com/users/7\"},"
      "\"title\":\"Alert\","
      "\"description\":\"Alert **R** (5 \u00d7): <@7>\","
      "\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"color\":9807270,"
      "\"footer\":{\"text\":\"12\"},\"fields\":["
      "{\"name\":\"Value\",\"value\":\"5 in 30 s\",\"inline\":false}]}],"
      "\"content\":\"<@&34>" ROLE },

    { "an alert as compact plain text", 3,
      ALERT ",\"role_id\":\"34\"",

      "{\"content\":\"<@&34>\\n\\nAlert **R** (5 \u00d7): <@7>\\n"
      "**Value:** 5 in 30 s\\n-# 12 \u00b7 <t:0:F>" ROLE },

    { "an alert as plain text", 2,
      ALERT,

      "{\"content\":\"**Alert**\\nAlert **R** (5 \u00d7): <@7>\\n"
      "**Member:** A (`7`)\\n**Value:** 5 in 30 s\\n"
      "-# 12 \u00b7 <t:0:F>" TEXT },

    { "an alert without a role", 0,
      ALERT,

      "{\"embeds\":[{\"author\":{\"name\":\"A\","
      "\"url\":\"https://discord.com/users/7\"},"
      "\"title\":\"Alert\","
      "\"description\":\"Alert **R** (5 \u00d7): <@7>\","
      "\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"color\":9807270,"
      "\"footer\":{\"text\":\"12\"},\"fields\":["
      "{\"name\":\"Value\",\"value\":\"5 in 30 s\",\"inline\":false}]}" TAIL },

    { "plain text", 2,
      "{\"id\":\"12\",\"type\":7,\"timestamp\":1754000000123,"
      "\"executor\":{\"id\":\"7\",\"name\":\"A\"},"
      "\"content\":\"a\\nb\",\"contentAfter\":\"> c\","
      "\"emoji\":{\"id\":\"9\",\"name\":\"e_e\",\"animated\":true}",

      "{\"content\":\"**Message edited**\\n<@7> edited a message\\n"
      "**Author:** A (`7`)\\n**Emoji:** <a:e_e:9> e\\\\_e\\n"
      "**Before**\\n> a\\n> b\\n"
      "**After**\\n> \\\\> c\\n-# 12 \u00b7 <t:1754000000:F>" TEXT },

    { "compact plain text", 3,
      "{\"id\":\"12\",\"type\":46,\"timestamp\":1000,\"count\":9,"
      "\"content\":\"a\\nb\",\"contentAfter\":\"c\"",

      "{\"content\":\"Inactive members were pruned (9)\\na b \u2192 c\\n"
      "-# 12 \u00b7 <t:1:F>" TEXT },

    { "an entry of nothing", 0, "{\"id\":\"12\",\"type\":60",

      "{\"embeds\":[{\"title\":\"Stage ended\","
      "\"description\":\"The stage was ended\","
      "\"timestamp\":\"1970-01-01T00:00:00.000Z\",\"color\":15548997,"
      "\"footer\":{\"text\":\"12\"},\"fields\":[]}" TAIL }
};


static void
test_cases(void)
{
    ngx_str_t    s;
    ngx_uint_t   i, packed;
    const char  *body;

    pool = tap_pool();
    worn = &bare;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        body = build(1, (const char **) &cases[i].doc, cases[i].format, 0,
                     &packed);
        s = tap_str(body ? body : "");
        tap_is_str(&s, cases[i].out, cases[i].what);
    }

    worn = &style;

    ngx_destroy_pool(pool);
}


static void
test_spoilers(void)
{
    ngx_str_t                      body;
    ngx_uint_t                     packed;
    ngx_guildlog_message_entry_t   e;

    pool = tap_pool();
    ngx_memzero(&e, sizeof(e));
    e.conf.style = &style;
    e.conf.guild = tap_str(ID);

    e.conf.spoilers = 1;
    e.doc = tap_str("{\"id\":\"1\",\"type\":5,\"reason\":\"r\","
                    "\"content\":\"a||b\\\\\"");

    (void) made(&e, 1, &body, &packed);

    tap_ok(has(&body, "\\n||a\\\\|\\\\|b\\\\\\\\||\""),
           "content stands between spoiler marks and cannot end them");
    tap_ok(has(&body, "\"r\""),
           "the reason does not");

    e.doc = tap_str("{\"id\":\"1\",\"type\":5,\"content\":\" \"");
    (void) made(&e, 1, &body, &packed);

    tap_ok(!has(&body, "||"),
           "nothing is not hidden");

    e.doc = tap_str("{\"id\":\"1\",\"type\":29,\"content\":\"a\","
                    "\"contentAfter\":\"b\"");
    (void) made(&e, 1, &body, &packed);

    tap_ok(!has(&body, "||"), "nor what is no message");

    e.doc = tap_str("{\"id\":\"1\",\"type\":101,\"name\":\"rule\","
                    "\"content\":\"a\"");
    (void) made(&e, 1, &body, &packed);

    tap_ok(has(&body, "||a||"), "but what a rule met is one");

    e.doc = tap_str("{\"id\":\"1\",\"type\":101,\"name\":\"rule\","
                    "\"executor\":{\"id\":\"9\"},\"action\":\"alert\","
                    "\"value\":\"a\"");
    (void) made(&e, 1, &body, &packed);

    tap_ok(has(&body, "Automation rule acted") && has(&body, "Found"),
           "a rule that alerts is no alert of ours");

    ngx_destroy_pool(pool);
}


static void
test_colors(void)
{
    ngx_str_t                      body;
    ngx_uint_t                     packed;
    ngx_guildlog_message_entry_t   e;

    pool = tap_pool();
    ngx_memzero(&e, sizeof(e));
    e.conf.style = &style;
    e.conf.guild = tap_str(ID);

    e.doc = tap_str("{\"id\":\"1\",\"type\":5");

    e.conf.color = 0;
    (void) made(&e, 1, &body, &packed);
    tap_ok(has(&body, "\"color\":0,"),
           "a color of its own, even black");

    e.conf.color = 0x1000000;
    (void) made(&e, 1, &body, &packed);
    tap_ok(has(&body, "\"color\":15548997,"),
           "what is no color is not one: what is gone is red");

    e.conf.style = &categories;
    (void) made(&e, 1, &body, &packed);
    tap_ok(has(&body, "\"color\":5793266,"),
           "or of the color of its category");

    ngx_destroy_pool(pool);
}


int
main(void)
{
    tap_start();

    test_texts();
    test_cases();
    test_spoilers();
    test_colors();
    test_packing();
    test_names();
    test_brim();
    test_room();
    test_hostile();

    return tap_done();
}
