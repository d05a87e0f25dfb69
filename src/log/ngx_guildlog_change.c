
/*
 * A change of an entry as people read it.  What is known of a key stands in
 * conf/viewer/change-keys.tsv; a value that does not fit is shown as it is.
 */

#include "log/ngx_guildlog_change.h"
#include "log/ngx_guildlog_language.h"
#include "api/ngx_guildlog_value.h"


#define CHANGE_KEY     80     /* of a value of a choice */
#define CHANGE_NUMBER  64
#define CHANGE_LAST    253402300799999  /* ms: the year 9999 ends */

#define CHANGE_CAME    "+ "
#define CHANGE_WENT    "\xe2\x88\x92 "


/* old and new; from right to left each stands apart, whatever its letters */

static const struct {
    const char                    *before;
    const char                    *between;
    const char                    *behind;
} change_ways[] = {
    { "", " \xe2\x86\x92 ", "" },
    { "\xe2\x81\xa8", "\xe2\x81\xa9 \xe2\x86\x90 \xe2\x81\xa8",
      "\xe2\x81\xa9" }
};


typedef struct {
    const json_t                  *old;
    const json_t                  *new;
    ngx_str_t                      name;
    ngx_guildlog_change_kind_e     kind;
    ngx_uint_t                     label;
    ngx_uint_t                     locale;
    ngx_guildlog_change_pt         write;
    void                          *data;
} change_t;


typedef void (*change_pt)(const change_t *change, const json_t *value);


static void change_read(change_t *c, const json_t *change,
    ngx_uint_t locale, ngx_guildlog_change_pt write, void *data);
static const json_t *change_get(const json_t *change, const char *name);
static const ngx_guildlog_change_key_t *change_find(const u_char *p,
    size_t len);
static ngx_uint_t change_begins(const ngx_str_t *s, const char *with);
static void change_items(const change_t *c, const json_t *value,
    const char *sign);
static ngx_uint_t change_permissions(const change_t *c);
static ngx_uint_t change_bits(const json_t *value, uint64_t *bits);
static ngx_uint_t change_bits_write(const change_t *c, uint64_t bits,
    const char *sign, ngx_uint_t n);
static void change_any(const change_t *c, const json_t *value);
static void change_limit(const change_t *c, const json_t *value);
static void change_color(const change_t *c, const json_t *value);
static void change_when(const change_t *c, const json_t *value);
static void change_long(const change_t *c, const json_t *value);
static void change_bitrate(const change_t *c, const json_t *value);
static void change_percent(const change_t *c, const json_t *value);
static void change_id(const change_t *c, const json_t *value);
static void change_choice(const change_t *c, const json_t *value);
static void change_label(const change_t *c, ngx_uint_t label);
static void change_word(const change_t *c, const char *fmt, ...);
static void change_text(const change_t *c, const ngx_str_t *text,
    ngx_guildlog_change_piece_e kind);
static int64_t change_time_digits(const u_char **p, const u_char *last,
    ngx_uint_t n);
static int64_t change_time_day(int64_t year, int64_t month, int64_t day);


/* by kind: how a value is written; seconds of a unit, or what an id is of */

static const struct {
    change_pt                      write;
    ngx_uint_t                     of;
} change_kinds[] = {
    [NGX_GUILDLOG_CHANGE_IS_TEXT] = { change_any, 0 },
    [NGX_GUILDLOG_CHANGE_IS_NUMBER] = { change_any, 0 },
    [NGX_GUILDLOG_CHANGE_IS_LIMIT] = { change_limit, 0 },
    [NGX_GUILDLOG_CHANGE_IS_FLAG] = { change_any, 0 },
    [NGX_GUILDLOG_CHANGE_IS_COLOR] = { change_color, 0 },
    [NGX_GUILDLOG_CHANGE_IS_PERMISSIONS] = { change_any, 0 },
    [NGX_GUILDLOG_CHANGE_IS_TIME] = { change_when, 0 },
    [NGX_GUILDLOG_CHANGE_IS_SECONDS] = { change_long, 1 },
    [NGX_GUILDLOG_CHANGE_IS_MINUTES] = { change_long, 60 },
    [NGX_GUILDLOG_CHANGE_IS_DAYS] = { change_long, 86400 },
    [NGX_GUILDLOG_CHANGE_IS_BITRATE] = { change_bitrate, 0 },
    [NGX_GUILDLOG_CHANGE_IS_PERCENT] = { change_percent, 0 },
    [NGX_GUILDLOG_CHANGE_IS_IMAGE] = { change_any, 0 },
    [NGX_GUILDLOG_CHANGE_IS_USER] = { change_id, NGX_GUILDLOG_CHANGE_USER },
    [NGX_GUILDLOG_CHANGE_IS_ROLE] = { change_id, NGX_GUILDLOG_CHANGE_ROLE },
    [NGX_GUILDLOG_CHANGE_IS_CHANNEL] = { change_id,
                                         NGX_GUILDLOG_CHANGE_CHANNEL },
    [NGX_GUILDLOG_CHANGE_IS_CHOICE] = { change_choice, 0 },
    [NGX_GUILDLOG_CHANGE_IS_TYPE] = { change_choice, 0 },
    [NGX_GUILDLOG_CHANGE_IS_VALUE] = { change_any, 0 }
};


void
ngx_guildlog_change_name(const json_t *change, ngx_uint_t locale,
    ngx_guildlog_change_pt write, void *data)
{
    change_t  c;

    change_read(&c, change, locale, write, data);

    if (c.label) {
        change_label(&c, c.label);
    } else {
        change_text(&c, &c.name, NGX_GUILDLOG_CHANGE_TEXT);
    }
}


void
ngx_guildlog_change_value(const json_t *change, ngx_uint_t locale,
    ngx_uint_t type, ngx_guildlog_change_pt write, void *data)
{
    change_t    c;
    ngx_uint_t  back;

    change_read(&c, change, locale, write, data);

    /* webhooks, stickers and permissions have types of their own */

    if (c.kind == NGX_GUILDLOG_CHANGE_IS_TYPE
        && !(ngx_guildlog_types[type].marks & NGX_GUILDLOG_MARK_CHANNEL))
    {
        c.kind = NGX_GUILDLOG_CHANGE_IS_TEXT;
    }

    if (c.old == NULL && c.new == NULL) {
        return;
    }

    if (change_begins(&c.name, "$add")) {
        change_items(&c, c.new ? c.new : c.old, CHANGE_CAME);
        return;
    }

    if (change_begins(&c.name, "$remove")) {
        change_items(&c, c.new ? c.new : c.old, CHANGE_WENT);
        return;
    }

    if (c.kind == NGX_GUILDLOG_CHANGE_IS_IMAGE) {

        /* nobody knows an image by its hash */

        change_label(&c, c.old == NULL ? NGX_GUILDLOG_CHANGE_ADDED
                         : c.new == NULL ? NGX_GUILDLOG_CHANGE_REMOVED
                         : NGX_GUILDLOG_CHANGE_CHANGED);
        return;
    }

    if (c.kind == NGX_GUILDLOG_CHANGE_IS_PERMISSIONS
        && change_permissions(&c))
    {
        return;
    }

    if (c.old == NULL
        || (c.new == NULL
            && ngx_guildlog_types[type].kind == NGX_GUILDLOG_KIND_GONE))
    {
        change_items(&c, c.old ? c.old : c.new, "");
        return;
    }

    back = (c.locale == ngx_guildlog_change_back);

    change_word(&c, change_ways[back].before);
    change_items(&c, c.old, "");
    change_word(&c, change_ways[back].between);

    if (c.new) {
        change_items(&c, c.new, "");
    } else {
        change_label(&c, NGX_GUILDLOG_CHANGE_NONE);
    }

    change_word(&c, change_ways[back].behind);
}


static void
change_read(change_t *c, const json_t *change, ngx_uint_t locale,
    ngx_guildlog_change_pt write, void *data)
{
    const ngx_guildlog_change_key_t  *key;

    c->old = change_get(change, "old");
    c->new = change_get(change, "new");
    c->name = ngx_guildlog_json_get(change, "key");

    c->locale = (locale < ngx_guildlog_change_locales) ? locale : 0;
    c->write = write;
    c->data = data;

    key = change_find(c->name.data, c->name.len);

    if (key && key->kind == NGX_GUILDLOG_CHANGE_IS_VALUE) {
        key = NULL;
    }

    c->kind = key ? key->kind : NGX_GUILDLOG_CHANGE_IS_TEXT;
    c->label = key ? key->label : 0;
}


/* NULL: it is absent or null */

static const json_t *
change_get(const json_t *change, const char *name)
{
    json_t  *value;

    value = json_object_get(change, name);

    return json_is_null(value) ? NULL : value;
}


static const ngx_guildlog_change_key_t *
change_find(const u_char *p, size_t len)
{
    const ngx_guildlog_change_key_t  *key;

    for (key = ngx_guildlog_change_keys; key->key.len; key++) {
        if (key->key.len == len && ngx_memcmp(key->key.data, p, len) == 0) {
            return key;
        }
    }

    return NULL;
}


static ngx_uint_t
change_begins(const ngx_str_t *s, const char *with)
{
    size_t  len;

    len = ngx_strlen(with);

    return s->len >= len && ngx_memcmp(s->data, with, len) == 0;
}


/* a value, or those of an array, each with the sign before it */

static void
change_items(const change_t *c, const json_t *value, const char *sign)
{
    size_t   i, n;
    json_t  *item;

    n = json_is_array(value) ? json_array_size(value) : 1;

    if (n == 0) {
        change_label(c, NGX_GUILDLOG_CHANGE_NONE);
    }

    for (i = 0; i < n; i++) {
        item = json_is_array(value) ? json_array_get(value, i)
                                    : (json_t *) value;

        if (i || *sign) {
            change_word(c, "%s%s", i ? ", " : "", sign);
        }

        change_kinds[c->kind].write(c, item);
    }
}


/* 0: they are no sums of bits */

static ngx_uint_t
change_permissions(const change_t *c)
{
    uint64_t    before, after;
    ngx_uint_t  n;

    if (!change_bits(c->old, &before) || !change_bits(c->new, &after)) {
        return 0;
    }

    n = change_bits_write(c, after & ~before, CHANGE_CAME, 0);
    n += change_bits_write(c, before & ~after, CHANGE_WENT, n);

    if (n == 0) {
        change_label(c, NGX_GUILDLOG_CHANGE_NONE);
    }

    return 1;
}


static ngx_uint_t
change_bits(const json_t *value, uint64_t *bits)
{
    int64_t    n;
    ngx_str_t  text;

    n = 0;

    if (json_is_integer(value)) {
        n = json_integer_value(value);

    } else if (value) {
        text = ngx_guildlog_json_text(value);
        n = text.len ? ngx_atoof(text.data, text.len) : NGX_ERROR;
    }

    *bits = (uint64_t) n;

    return n >= 0;
}


static ngx_uint_t
change_bits_write(const change_t *c, uint64_t bits, const char *sign,
    ngx_uint_t n)
{
    ngx_uint_t  i, first;

    first = n;

    for (i = 0; i < NGX_GUILDLOG_CHANGE_BITS; i++) {
        if (!(bits & ((uint64_t) 1 << i))) {
            continue;
        }

        change_word(c, "%s%s", n++ ? ", " : "", sign);

        if (ngx_guildlog_change_bits[i]) {
            change_label(c, ngx_guildlog_change_bits[i]);
        } else {
            change_word(c, "#%ui", i);
        }
    }

    return n - first;
}


/* one value of any kind; what is no list has no nulls in it */

static void
change_any(const change_t *c, const json_t *value)
{
    u_char     buf[NGX_GUILDLOG_JSON_REAL];
    ngx_str_t  text;

    switch (json_typeof(value)) {

    case JSON_TRUE:
        change_label(c, NGX_GUILDLOG_CHANGE_YES);
        return;

    case JSON_FALSE:
        change_label(c, NGX_GUILDLOG_CHANGE_NO);
        return;

    case JSON_INTEGER:
        change_word(c, "%L", (int64_t) json_integer_value(value));
        return;

    case JSON_REAL:
        text.data = buf;
        text.len = ngx_guildlog_json_real(buf, json_real_value(value)) - buf;

        change_text(c, &text, NGX_GUILDLOG_CHANGE_WORD);
        return;

    case JSON_OBJECT:
        text = ngx_guildlog_json_get(value, "name");

        if (text.len == 0) {
            text = ngx_guildlog_json_get(value, "id");
        }

        break;

    default:
        text = ngx_guildlog_json_text(value);
    }

    if (text.len) {
        change_text(c, &text, NGX_GUILDLOG_CHANGE_TEXT);
    } else {
        change_label(c, NGX_GUILDLOG_CHANGE_NONE);
    }
}


static void
change_limit(const change_t *c, const json_t *value)
{
    if (json_is_integer(value) && json_integer_value(value) == 0) {
        change_label(c, NGX_GUILDLOG_CHANGE_NONE);
        return;
    }

    change_any(c, value);
}


static void
change_color(const change_t *c, const json_t *value)
{
    json_int_t  n;

    n = json_integer_value(value);

    if (n > 0 && n <= 0xffffff) {
        change_word(c, "#%06xL", (int64_t) n);
        return;
    }

    change_limit(c, value);
}


static void
change_when(const change_t *c, const json_t *value)
{
    ngx_str_t                    text;
    ngx_guildlog_change_piece_t  piece;

    text = ngx_guildlog_json_text(value);

    ngx_memzero(&piece, sizeof(piece));

    piece.kind = NGX_GUILDLOG_CHANGE_TIME;
    piece.ms = json_is_integer(value) ? json_integer_value(value)
                                      : ngx_guildlog_change_time(&text);

    if (piece.ms < 0) {
        change_any(c, value);
        return;
    }

    c->write(c->data, &piece);
}


/* "1 d 30 min"; the units are the same in all languages */

static void
change_long(const change_t *c, const json_t *value)
{
    int64_t     n;
    ngx_uint_t  i, some;

    static const struct {
        int64_t      seconds;
        const char  *name;
    } units[] = {
        { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" }
    };

    n = json_integer_value(value);

    if (n <= 0 || n > INT32_MAX) {
        change_limit(c, value);
        return;
    }

    n *= change_kinds[c->kind].of;
    some = 0;

    for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (n >= units[i].seconds) {
            change_word(c, "%s%L %s", some++ ? " " : "",
                        n / units[i].seconds, units[i].name);
            n %= units[i].seconds;
        }
    }
}


static void
change_bitrate(const change_t *c, const json_t *value)
{
    if (json_integer_value(value) < 1000) {
        change_any(c, value);
        return;
    }

    change_word(c, "%L kbit/s", (int64_t) json_integer_value(value) / 1000);
}


static void
change_percent(const change_t *c, const json_t *value)
{
    double  part;

    part = json_number_value(value);

    if (!json_is_number(value) || part < 0 || part > 1) {
        change_any(c, value);
        return;
    }

    change_word(c, "%L %%", (int64_t) (part * 100 + 0.5));
}


/* an id, or {id, name}; without an id it is a text */

static void
change_id(const change_t *c, const json_t *value)
{
    ngx_guildlog_change_piece_t  piece;

    ngx_memzero(&piece, sizeof(piece));

    piece.kind = change_kinds[c->kind].of;
    piece.text = ngx_guildlog_json_get(value, "name");
    piece.id = ngx_guildlog_json_text(json_is_object(value)
                                      ? json_object_get(value, "id") : value);

    /* "0" is no channel, in our own configuration */

    if (piece.kind == NGX_GUILDLOG_CHANGE_CHANNEL && piece.id.len == 1
        && piece.id.data[0] == '0' && json_is_string(value))
    {
        change_label(c, NGX_GUILDLOG_CHANGE_OFF);
        return;
    }

    if (!ngx_guildlog_value_is_id(&piece.id)) {
        change_any(c, value);
        return;
    }

    c->write(c->data, &piece);
}


static void
change_choice(const change_t *c, const json_t *value)
{
    u_char                            key[CHANGE_KEY], *p;
    const ngx_guildlog_change_key_t  *choice;

    choice = NULL;

    if (json_is_integer(value)) {
        p = ngx_snprintf(key, sizeof(key), "%V.%L", &c->name,
                         (int64_t) json_integer_value(value));
        choice = change_find(key, p - key);
    }

    if (choice) {
        change_label(c, choice->label);
    } else {
        change_any(c, value);
    }
}


static void
change_label(const change_t *c, ngx_uint_t label)
{
    ngx_str_t  text;

    text = ngx_guildlog_word(ngx_guildlog_change_labels[
                              c->locale * ngx_guildlog_change_nlabels + label]);

    change_text(c, &text, NGX_GUILDLOG_CHANGE_WORD);
}


static void
change_word(const change_t *c, const char *fmt, ...)
{
    u_char     buf[CHANGE_NUMBER];
    va_list    args;
    ngx_str_t  text;

    va_start(args, fmt);
    text.data = buf;
    text.len = ngx_vslprintf(buf, buf + sizeof(buf), fmt, args) - buf;
    va_end(args);

    change_text(c, &text, NGX_GUILDLOG_CHANGE_WORD);
}


static void
change_text(const change_t *c, const ngx_str_t *text,
    ngx_guildlog_change_piece_e kind)
{
    ngx_guildlog_change_piece_t  piece;

    ngx_memzero(&piece, sizeof(piece));

    piece.kind = kind;
    piece.text = *text;

    c->write(c->data, &piece);
}


/*
 * Times as the platform writes them: a date, a time, a fraction, an offset.
 */

u_char *
ngx_guildlog_change_time_write(u_char *p, int64_t ms)
{
    ngx_tm_t  tm;

    ms = ngx_min(ngx_max(ms, 0), CHANGE_LAST);

    ngx_gmtime((time_t) (ms / 1000), &tm);

    return ngx_sprintf(p, "%4d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                       tm.ngx_tm_year, tm.ngx_tm_mon, tm.ngx_tm_mday,
                       tm.ngx_tm_hour, tm.ngx_tm_min, tm.ngx_tm_sec,
                       (int) (ms % 1000));
}


int64_t
ngx_guildlog_change_time(const ngx_str_t *s)
{
    int64_t        date[6], offset, minutes, ms, unit;
    ngx_uint_t     i, negative;
    const u_char  *p, *last;

    static const u_char  behind[] = "--T::";

    p = s->data;
    last = p + s->len;

    for (i = 0; i < 6; i++) {
        date[i] = change_time_digits(&p, last, i ? 2 : 4);

        if (date[i] < 0 || (i < 5 && (p == last || *p++ != behind[i]))) {
            return NGX_ERROR;
        }
    }

    if (date[0] < 1970 || date[1] < 1 || date[1] > 12 || date[2] < 1
        || date[2] > 31 || date[3] > 23 || date[4] > 59 || date[5] > 60)
    {
        return NGX_ERROR;
    }

    ms = 0;

    if (p < last && *p == '.') {
        for (p++, unit = 100; p < last && *p >= '0' && *p <= '9'; p++) {
            ms += (*p - '0') * unit;
            unit /= 10;
        }
    }

    offset = 0;

    if (p < last && (*p == '+' || *p == '-')) {
        negative = (*p++ == '-');
        offset = change_time_digits(&p, last, 2);

        if (offset < 0 || p == last || *p++ != ':') {
            return NGX_ERROR;
        }

        minutes = change_time_digits(&p, last, 2);

        if (minutes < 0) {
            return NGX_ERROR;
        }

        offset = offset * 60 + minutes;
        offset = negative ? -offset : offset;

    } else if (p < last && *p == 'Z') {
        p++;
    }

    if (p != last) {
        return NGX_ERROR;
    }

    return (((change_time_day(date[0], date[1], date[2]) * 24 + date[3]) * 60
             + date[4] - offset) * 60 + date[5]) * 1000 + ms;
}


static int64_t
change_time_digits(const u_char **p, const u_char *last, ngx_uint_t n)
{
    int64_t  value;

    if ((size_t) (last - *p) < n) {
        return NGX_ERROR;
    }

    value = ngx_atoi((u_char *) *p, n);
    *p += n;

    return value;
}


/* days since 1970-01-01: years begin with March, so that leap days end them */

static int64_t
change_time_day(int64_t year, int64_t month, int64_t day)
{
    if (month < 3) {
        month += 12;
        year--;
    }

    return 365 * year + year / 4 - year / 100 + year / 400
           + (153 * (month - 3) + 2) / 5 + day - 1 - 719468;
}
