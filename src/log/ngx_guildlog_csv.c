
/*
 * One table says what stands in which column.
 */

#include "log/ngx_guildlog_csv.h"
#include "log/ngx_guildlog_change.h"
#include "log/ngx_guildlog_language.h"


#define CSV_TIME    NGX_GUILDLOG_CHANGE_TIME_LEN
#define CSV_PARTS   48    /* of a sentence: words, and what is between them */


typedef struct {
    ngx_guildlog_json_t           *out;
    const ngx_guildlog_csv_t      *csv;
    json_t                        *entry;
    ngx_uint_t                     type;
    const ngx_str_t               *status;
    const ngx_str_t               *reason;
} csv_row_t;


/* a sentence, piece by piece */

typedef struct {
    csv_row_t                     *row;
    ngx_uint_t                     n;
    ngx_str_t                      parts[CSV_PARTS];
    u_char                         count[NGX_INT64_LEN];
    u_char                         until[CSV_TIME];
} csv_sentence_t;


/* the writer puts a comma before each cell but the first */

typedef struct {
    void                         (*write)(csv_row_t *row, const char *object,
                                          const char *field);
    const char                    *object;     /* NULL: the entry itself */
    const char                    *field;
} csv_column_t;


static void csv_time(csv_row_t *row, const char *object, const char *field);
static void csv_number(csv_row_t *row, const char *object, const char *field);
static void csv_text(csv_row_t *row, const char *object, const char *field);
static void csv_id(csv_row_t *row, const char *object, const char *field);
static void csv_name(csv_row_t *row, const char *object, const char *field);
static void csv_summary(csv_row_t *row, const char *object, const char *field);
static void csv_summary_write(void *data, ngx_guildlog_place_e place,
    const ngx_str_t *words);
static void csv_summary_add(csv_sentence_t *sentence, const void *data,
    size_t len);
static void csv_status(csv_row_t *row, const char *object, const char *field);
static void csv_reason(csv_row_t *row, const char *object, const char *field);
static void csv_changes(csv_row_t *row, const char *object, const char *field);
static void csv_change(void *data, const ngx_guildlog_change_piece_t *piece);
static ngx_str_t csv_title(const csv_row_t *row, ngx_uint_t locale);
static void csv_cell(csv_row_t *row, const ngx_str_t *parts, ngx_uint_t n);
static ngx_uint_t csv_formula(const ngx_str_t *s);


const ngx_str_t  ngx_guildlog_csv_header = ngx_string(
    "timestamp,log_id,log_type,log_name,summary,executor_id,executor_name,"
    "target_id,target_name,channel_id,channel_name,role,name,reason,count,"
    "content,content_after,delivered,delivery_reason,action,value,changes\r\n");


/* in the order of the header */

static const csv_column_t  csv_columns[] = {
    { csv_time, NULL, "timestamp" },
    { csv_id, NULL, "id" },
    { csv_number, NULL, "type" },
    { csv_name, NULL, NULL },
    { csv_summary, NULL, NULL },
    { csv_id, "executor", "id" },
    { csv_text, "executor", "name" },
    { csv_id, "target", "id" },
    { csv_text, "target", "name" },
    { csv_id, "channel", "id" },
    { csv_text, "channel", "name" },
    { csv_text, NULL, "role" },
    { csv_text, NULL, "name" },
    { csv_text, NULL, "reason" },
    { csv_number, NULL, "count" },
    { csv_text, NULL, "content" },
    { csv_text, NULL, "contentAfter" },
    { csv_status, NULL, NULL },
    { csv_reason, NULL, NULL },
    { csv_text, NULL, "action" },
    { csv_text, NULL, "value" },
    { csv_changes, NULL, "changes" }
};


ngx_int_t
ngx_guildlog_csv_row(const ngx_guildlog_csv_t *csv, ngx_guildlog_json_t *out,
    const ngx_str_t *doc, const ngx_str_t *status, const ngx_str_t *reason)
{
    u_char              *p;
    csv_row_t            row;
    json_int_t           type;
    ngx_uint_t           i;
    json_error_t         error;
    const csv_column_t  *column;

    /* where the row will stand serves to complete the doc */

    p = ngx_guildlog_json_place(out, doc->len + 1);
    if (p == NULL) {
        return NGX_ERROR;
    }

    *ngx_cpymem(p, doc->data, doc->len) = '}';

    row.entry = ngx_guildlog_json_read_any(p, doc->len + 1, 0, &error);
    if (row.entry == NULL) {
        return NGX_DECLINED;
    }

    type = json_integer_value(json_object_get(row.entry, "type"));

    if (type < 0 || type >= NGX_GUILDLOG_TYPES) {
        json_decref(row.entry);
        return NGX_DECLINED;
    }

    row.out = out;
    row.csv = csv;
    row.type = (ngx_uint_t) type;
    row.status = status;
    row.reason = reason;

    for (i = 0; i < sizeof(csv_columns) / sizeof(csv_column_t); i++) {
        column = &csv_columns[i];
        column->write(&row, column->object, column->field);
    }

    ngx_guildlog_json_literal(out, CRLF, sizeof(CRLF) - 1);

    json_decref(row.entry);

    return out->failed ? NGX_ERROR : NGX_OK;
}


static void
csv_time(csv_row_t *row, const char *object, const char *field)
{
    u_char     buf[CSV_TIME];
    json_t    *value;
    ngx_str_t  time;

    value = json_object_get(row->entry, field);

    time.data = buf;
    time.len = ngx_guildlog_change_time_write(buf, json_integer_value(value))
               - buf;

    ngx_guildlog_json_raw(row->out, &time);
}


static void
csv_number(csv_row_t *row, const char *object, const char *field)
{
    json_t  *value;

    static ngx_str_t  none = ngx_string("");

    value = json_object_get(row->entry, field);

    if (json_is_integer(value)) {
        ngx_guildlog_json_number(row->out, json_integer_value(value));

    } else {
        ngx_guildlog_json_raw(row->out, &none);
    }
}


static void
csv_text(csv_row_t *row, const char *object, const char *field)
{
    json_t     *from;
    ngx_str_t   s;

    from = object ? json_object_get(row->entry, object) : row->entry;

    s = ngx_guildlog_json_get(from, field);
    csv_cell(row, &s, 1);
}


static void
csv_id(csv_row_t *row, const char *object, const char *field)
{
    u_char     *p;
    json_t     *from;
    ngx_str_t   s;

    from = object ? json_object_get(row->entry, object) : row->entry;
    s = ngx_guildlog_json_get(from, field);

    if (!row->csv->text_ids || s.len == 0) {
        csv_cell(row, &s, 1);
        return;
    }

    p = ngx_guildlog_json_place(row->out, s.len + sizeof("\"=\"\"\"\"\"") - 1);

    if (p) {
        ngx_guildlog_json_placed(row->out,
                                 ngx_sprintf(p, "\"=\"\"%V\"\"\"", &s));
    }
}


static void
csv_name(csv_row_t *row, const char *object, const char *field)
{
    ngx_str_t  title;

    title = csv_title(row, 0);
    csv_cell(row, &title, 1);
}


/* what happened, in a sentence; the title, where there is none */

static void
csv_summary(csv_row_t *row, const char *object, const char *field)
{
    csv_sentence_t  sentence;

    sentence.row = row;
    sentence.n = 0;

    (void) ngx_guildlog_language_say(row->type, row->csv->locale,
                                     ngx_guildlog_sentence_has(row->entry),
                                     csv_summary_write, &sentence);
    if (sentence.n == 0) {
        sentence.parts[sentence.n++] = csv_title(row, row->csv->locale);
    }

    csv_cell(row, sentence.parts, sentence.n);
}


static void
csv_summary_write(void *data, ngx_guildlog_place_e place,
    const ngx_str_t *words)
{
    csv_sentence_t *sentence = data;

    u_char     *p;
    json_t     *value;
    ngx_str_t   s;

    if (place == NGX_GUILDLOG_PLACE_TEXT) {
        csv_summary_add(sentence, words->data, words->len);
        return;
    }

    value = json_object_get(sentence->row->entry,
                            ngx_guildlog_sentence_field(place));

    switch (place) {

    case NGX_GUILDLOG_PLACE_COUNT:
        p = ngx_sprintf(sentence->count, "%L",
                        (int64_t) json_integer_value(value));
        csv_summary_add(sentence, sentence->count, p - sentence->count);
        return;

    case NGX_GUILDLOG_PLACE_UNTIL:
        (void) ngx_guildlog_change_time_write(sentence->until,
                                              json_integer_value(value));
        csv_summary_add(sentence, sentence->until, CSV_TIME);
        return;

    case NGX_GUILDLOG_PLACE_CHANNEL:
        csv_summary_add(sentence, "#", 1);

        /* fall through */

    default:
        s = ngx_guildlog_json_text(json_is_object(value)
                                   ? json_object_get(value, "name") : value);

        /* what has no name is called by its id */

        if (s.len == 0) {
            s = ngx_guildlog_json_get(value, "id");
        }

        csv_summary_add(sentence, s.data, s.len);
    }
}


static void
csv_summary_add(csv_sentence_t *sentence, const void *data, size_t len)
{
    ngx_str_t  *s;

    if (len && sentence->n < CSV_PARTS) {
        s = &sentence->parts[sentence->n++];
        s->data = (u_char *) data;
        s->len = len;
    }
}


static ngx_str_t
csv_title(const csv_row_t *row, ngx_uint_t locale)
{
    return ngx_guildlog_word(ngx_guildlog_language_title(row->type, locale));
}


static void
csv_status(csv_row_t *row, const char *object, const char *field)
{
    csv_cell(row, row->status, 1);
}


static void
csv_reason(csv_row_t *row, const char *object, const char *field)
{
    csv_cell(row, row->reason, 1);
}


/* "<label>: <old> → <new>; …" */

static void
csv_changes(csv_row_t *row, const char *object, const char *field)
{
    size_t                i;
    json_t               *changes, *change;
    ngx_str_t             cell;
    ngx_guildlog_json_t   text;

    ngx_str_set(&cell, "");
    changes = json_object_get(row->entry, field);

    if (json_array_size(changes)) {
        ngx_guildlog_json_init(&text, row->out->pool, 256);

        json_array_foreach(changes, i, change) {
            if (i) {
                ngx_guildlog_json_literal(&text, "; ", 2);
            }

            ngx_guildlog_change_name(change, row->csv->locale, csv_change,
                                     &text);
            ngx_guildlog_json_literal(&text, ": ", 2);
            ngx_guildlog_change_value(change, row->csv->locale, row->type,
                                      csv_change, &text);
        }

        if (ngx_guildlog_json_written(&text, &cell) != NGX_OK) {
            row->out->failed = 1;
            return;
        }
    }

    csv_cell(row, &cell, 1);
}


static void
csv_change(void *data, const ngx_guildlog_change_piece_t *piece)
{
    u_char            buf[CSV_TIME];
    const ngx_str_t  *s;

    if (piece->kind == NGX_GUILDLOG_CHANGE_TIME) {
        (void) ngx_guildlog_change_time_write(buf, piece->ms);
        ngx_guildlog_json_literal(data, buf, CSV_TIME);
        return;
    }

    s = piece->text.len ? &piece->text : &piece->id;

    if (s->len) {
        ngx_guildlog_json_literal(data, s->data, s->len);
    }
}


static void
csv_cell(csv_row_t *row, const ngx_str_t *parts, ngx_uint_t n)
{
    size_t      j, len;
    u_char     *p;
    ngx_uint_t  i, quote;

    len = sizeof("\"'\"") - 1;
    quote = 0;

    /* some readers separate by semicolons and tabs as well as by commas */

    for (i = 0; i < n; i++) {
        len += 2 * parts[i].len;

        for (j = 0; j < parts[i].len && !quote; j++) {
            quote = (ngx_strchr("\",;\t\r\n", parts[i].data[j]) != NULL);
        }
    }

    p = ngx_guildlog_json_place(row->out, len);
    if (p == NULL) {
        return;
    }

    if (quote) {
        *p++ = '"';
    }

    if (csv_formula(&parts[0])) {
        *p++ = '\'';
    }

    for (i = 0; i < n; i++) {
        for (j = 0; j < parts[i].len; j++) {
            if (parts[i].data[j] == '"') {
                *p++ = '"';
            }

            *p++ = parts[i].data[j];
        }
    }

    if (quote) {
        *p++ = '"';
    }

    ngx_guildlog_json_placed(row->out, p);
}


/* spreadsheets take the wide forms of these for the same */

static ngx_uint_t
csv_formula(const ngx_str_t *s)
{
    const ngx_str_t  *mark;

    static const ngx_str_t  marks[] = {
        ngx_string("="), ngx_string("+"), ngx_string("-"), ngx_string("@"),
        ngx_string("\t"), ngx_string("\r"), ngx_string("\n"),
        ngx_string("\xef\xbc\x9d"), ngx_string("\xef\xbc\x8b"),
        ngx_string("\xef\xbc\x8d"), ngx_string("\xef\xbc\xa0"),
        ngx_null_string
    };

    for (mark = marks; mark->len; mark++) {
        if (s->len >= mark->len
            && ngx_memcmp(s->data, mark->data, mark->len) == 0)
        {
            return 1;
        }
    }

    return 0;
}
