
/*
 * Links ngx_guildlog_change.c, ngx_guildlog_change_data.c,
 * ngx_guildlog_language.c, ngx_guildlog_language_data.c,
 * ngx_guildlog_json.c, ngx_guildlog_utf8.c and ngx_guildlog_value.c.
 *
 * "Known keys are shown as people read them, in viewer, message and CSV alike.
 * An unknown key is shown by its name."
 */

#include "log/ngx_guildlog_change.h"
#include "tap.h"


#define EN     0
#define EN_GB  1
#define DE     9
#define AR     16
#define JA     18

/* log types */
#define JOINED   1
#define DELETED  28
#define WEBHOOK  79


typedef struct {
    const char  *change;
    const char  *shown;     /* texts in <>, ids with their sign */
} case_t;


static const case_t  cases[] = {

    /* before and after */

    { "{'key':'nick','old':'chia','new':'Chiara B'}",
      "Nickname: <chia> → <Chiara B>" },
    { "{'key':'nick','old':null,'new':'Chiara'}", "Nickname: <Chiara>" },
    { "{'key':'nick','new':'Chiara'}", "Nickname: <Chiara>" },
    { "{'key':'nick','old':'Chiara','new':null}",
      "Nickname: <Chiara> → none" },
    { "{'key':'topic','old':'a','new':''}", "Topic: <a> → none" },
    { "{'key':'nick','old':null,'new':null}", "Nickname: " },

    /* what nothing is known of */

    { "{'key':'a_new_key','old':false,'new':[]}", "<a_new_key>: no → none" },
    { "{'key':'a_new_key','old':5,'new':0.25}", "<a_new_key>: 5 → 0.25" },
    { "{'key':'a_new_key','new':['x','y']}", "<a_new_key>: <x>, <y>" },
    { "{'key':'verification_level.1','new':1}", "<verification_level.1>: 1" },

    /* words and numbers */

    { "{'key':'nsfw','old':false,'new':true}", "Age-restricted: no → yes" },
    { "{'key':'color','old':0,'new':3447003}", "Color: none → #3498db" },
    { "{'key':'color','old':255,'new':16777216}",
      "Color: #0000ff → 16777216" },
    { "{'key':'position','old':0,'new':-1}", "Position: 0 → -1" },
    { "{'key':'user_limit','old':0,'new':12}", "User limit: none → 12" },
    { "{'key':'bitrate','old':64000,'new':96000}",
      "Bitrate: 64 kbit/s → 96 kbit/s" },
    { "{'key':'volume','old':1,'new':0.55}", "Volume: 100 % → 55 %" },
    { "{'key':'rate_limit_per_user','old':0,'new':5}",
      "Slow mode: none → 5 s" },
    { "{'key':'rate_limit_per_user','old':90,'new':21600}",
      "Slow mode: 1 min 30 s → 6 h" },
    { "{'key':'auto_archive_duration','old':1440,'new':10080}",
      "Hidden after: 1 d → 7 d" },
    { "{'key':'prune_delete_days','new':30}", "Inactive for: 30 d" },
    { "{'key':'max_age','new':9223372036854775807}",
      "Expires after: 9223372036854775807" },
    { "{'key':'verification_level','old':1,'new':4}",
      "Verification level: low → highest" },
    { "{'key':'verification_level','old':1,'new':9}",
      "Verification level: low → 9" },
    { "{'key':'entity_type','new':'2'}", "Place: <2>" },

    /* times */

    { "{'key':'communication_disabled_until','old':null,"
      "'new':'2026-11-24T00:00:00.123000+00:00'}",
      "Timed out until: 1795478400123 ms" },
    { "{'key':'communication_disabled_until','new':'soon'}",
      "Timed out until: <soon>" },

    /* permissions: what came, and what went */

    { "{'key':'permissions','old':'0','new':'2048'}",
      "Permissions: + Send Messages" },
    { "{'key':'permissions','old':'268435464','new':'2056'}",
      "Permissions: + Send Messages, − Manage Roles" },
    { "{'key':'deny','old':'2048','new':'0'}", "Denied: − Send Messages" },
    { "{'key':'allow','new':'140737488355328'}", "Allowed: + #47" },
    { "{'key':'allow','new':4503599627370496}",
      "Allowed: + Bypass Slow Mode" },
    { "{'key':'allow','old':null,'new':'0'}", "Allowed: none" },
    { "{'key':'permissions','old':'all','new':'8'}",
      "Permissions: <all> → <8>" },

    /* roles and keywords that came or went */

    { "{'key':'$add','new':[{'id':'42','name':'Mod'},{'id':'43','name':''}]}",
      "Roles: + @&42 Mod, + @&43 " },
    { "{'key':'$remove','new':['400000000000000001','Helper']}",
      "Roles: − @&400000000000000001 , − <Helper>" },
    { "{'key':'$remove_keyword_filter','new':['a','b']}",
      "Keywords: − <a>, − <b>" },
    { "{'key':'$add_something','new':['a']}", "<$add_something>: + <a>" },

    /* who and where */

    { "{'key':'owner_id','old':'200000000000000001',"
      "'new':'200000000000000002'}",
      "Owner: @200000000000000001  → @200000000000000002 " },
    { "{'key':'parent_id','old':'300000000000000001','new':null}",
      "Category: ^300000000000000001  → none" },
    { "{'key':'owner_id','new':'99999999999999999999'}",
      "Owner: <99999999999999999999>" },
    { "{'key':'exempt_channels','new':['3','4']}",
      "Exempt channels: ^3 , ^4 " },

    /* images */

    { "{'key':'icon_hash','old':null,'new':'a'}", "Icon: added" },
    { "{'key':'icon_hash','old':'a','new':'b'}", "Icon: changed" },
    { "{'key':'icon_hash','old':'a','new':null}", "Icon: removed" }
};


static const case_t  times[] = {
    { "1970-01-01T00:00:00", "0" },
    { "2000-02-29T23:59:59.9Z", "951868799900" },
    { "2026-11-23T19:30:00.000000+00:00", "1795462200000" },
    { "2026-11-23T19:30:00.0004567-01:30", "1795467600000" },
    { "2100-03-01T00:00:00Z", "4107542400000" },
    { "1969-12-31T00:00:00Z", "-1" },
    { "2026-13-01T00:00:00Z", "-1" },
    { "2026-11-23", "-1" },
    { "2026-11-23T19:30:00+0", "-1" },
    { "2026-11-23T19:30:00+00:00 ", "-1" },
    { "2026-11-2xT19:30:00Z", "-1" },
    { "", "-1" }
};


static char    shown[1024];
static size_t  len;


static void
put(const char *fmt, ...)
{
    va_list  args;

    va_start(args, fmt);
    len += vsnprintf(shown + len, sizeof(shown) - len, fmt, args);
    va_end(args);
}


static void
piece_write(void *data, const ngx_guildlog_change_piece_t *piece)
{
    tap_ok(data == shown, "data");

    switch (piece->kind) {

    case NGX_GUILDLOG_CHANGE_WORD:
        put("%.*s", (int) piece->text.len, piece->text.data);
        break;

    case NGX_GUILDLOG_CHANGE_TEXT:
        put("<%.*s>", (int) piece->text.len, piece->text.data);
        break;

    case NGX_GUILDLOG_CHANGE_TIME:
        put("%lld ms", (long long) piece->ms);
        break;

    default:
        put("%s%.*s %.*s",
            piece->kind == NGX_GUILDLOG_CHANGE_USER ? "@"
            : piece->kind == NGX_GUILDLOG_CHANGE_ROLE ? "@&" : "^",
            (int) piece->id.len, piece->id.data,
            (int) piece->text.len, piece->text.data);
    }
}


static const char *
show(const char *text, ngx_uint_t locale, ngx_uint_t type)
{
    char    json[512], *p;
    json_t  *change;

    snprintf(json, sizeof(json), "%s", text);

    for (p = json; *p; p++) {
        if (*p == '\'') {
            *p = '"';
        }
    }

    change = json_loads(json, 0, NULL);

    len = 0;
    ngx_guildlog_change_name(change, locale, piece_write, shown);
    put(": ");
    ngx_guildlog_change_value(change, locale, type, piece_write, shown);

    json_decref(change);

    return shown;
}


static void
is_shown(const char *change, ngx_uint_t locale, ngx_uint_t type,
    const char *expected)
{
    if (!tap_ok(strcmp(show(change, locale, type), expected) == 0, "%s",
                expected))
    {
        printf("# got %s\n", shown);
    }
}


static void
test_labels(void)
{
    ngx_uint_t  i, n;

    n = ngx_guildlog_change_locales * ngx_guildlog_change_nlabels;

    for (i = 0; i < n && *ngx_guildlog_change_labels[i]; i++) { /* void */ }

    tap_is(i, n, "each label has a text in each language");
}


int
main(void)
{
    ngx_str_t   s;
    ngx_uint_t  i;

    tap_start();

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        is_shown(cases[i].change, EN, JOINED, cases[i].shown);
    }

    is_shown("{'key':'name','old':'general','new':null}", EN, DELETED,
             "Name: <general>");
    is_shown("{'key':'name','old':'a','new':'b'}", EN, DELETED,
             "Name: <a> → <b>");
    is_shown("{'key':'type','new':0}", EN, NGX_GUILDLOG_TYPE_CHANNEL,
             "Type: text channel");
    is_shown("{'key':'type','old':13,'new':null}", DE, DELETED,
             "Art: Stage-Kanal");
    is_shown("{'key':'type','new':99}", EN, NGX_GUILDLOG_TYPE_CHANNEL,
             "Type: 99");
    is_shown("{'key':'type','new':2}", EN, WEBHOOK, "Type: 2");
    is_shown("{'key':'name','old':'a','new':'b'}", AR, JOINED,
             "الاسم: \u2068<a>\u2069 ← \u2068<b>\u2069");
    is_shown("{'key':'nsfw','new':true}", 99, JOINED, "Age-restricted: yes");
    is_shown("{'key':'color','new':0}", EN_GB, JOINED, "Colour: none");
    is_shown("{'key':'nsfw','new':true}", EN_GB, JOINED, "Age-restricted: yes");
    is_shown("{'key':'permissions','old':'8','new':'2048'}", DE, JOINED,
             "Berechtigungen: + Nachrichten senden, − Administrator");
    is_shown("{'key':'nsfw','old':false,'new':true}", JA, JOINED,
             "年齢制限: いいえ → はい");

    for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        s.data = (u_char *) times[i].change;
        s.len = strlen(times[i].change);
        tap_is(ngx_guildlog_change_time(&s), atoll(times[i].shown),
               times[i].change);
    }

    test_labels();

    return tap_done();
}
