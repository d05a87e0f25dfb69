
/*
 * Links ngx_guildlog_login_answer.c, ngx_guildlog_login_cookie.c,
 * ngx_guildlog_login_flow.c, ngx_guildlog_seal.c, ngx_guildlog_value.c,
 * ngx_guildlog_utf8.c and ngx_guildlog_json.c.
 *
 * What a cookie holds comes back, under each of the keys, and nothing else
 * does; what the platform says makes a person, or none.
 */

#include "login/ngx_guildlog_login.h"
#include "tap.h"


#define SESSION  "00112233445566778899aabbccddeeff"


static ngx_pool_t                 *pool;
static ngx_guildlog_login_keys_t   keys;
static u_char                      bytes[2][NGX_GUILDLOG_SEAL_KEY];


static json_t *
parse(const char *text)
{
    ngx_str_t  str, error;

    str = tap_str(text);

    return ngx_guildlog_json_parse(pool, &str, &error);
}


static void
person_of(ngx_guildlog_login_person_t *person, ngx_uint_t nguilds)
{
    static ngx_guildlog_login_guild_t  guilds[NGX_GUILDLOG_LOGIN_GUILDS];

    ngx_uint_t  i;

    ngx_memzero(person, sizeof(ngx_guildlog_login_person_t));

    person->session = tap_str(SESSION);
    person->user = tap_str("9223372036854775807");
    person->name = tap_str("Ada");
    person->avatar = tap_str("a_0123");
    person->access = tap_str("the.platform-token_of~it");
    person->expires = 2000000000;
    person->asked = 1999999000;
    person->guilds = guilds;
    person->nguilds = nguilds;

    for (i = 0; i < nguilds; i++) {
        guilds[i].id = tap_str("100000000000000001");
        guilds[i].icon = tap_str("a_0123456789abcdef0123456789abcdef");
    }
}


static void
test_cookie(void)
{
    ngx_str_t                    cookie, cut;
    ngx_uint_t                   i, opened;
    ngx_guildlog_login_person_t  person, read;

    person_of(&person, 4);
    person.guilds[0].icon = tap_str("0123456789abcdef0123456789abcdef");
    ngx_str_null(&person.guilds[1].icon);
    person.guilds[2].icon = tap_str("0123456789ABCDEF0123456789abcdef");

    tap_is(ngx_guildlog_login_cookie(pool, &keys, &person, &cookie), NGX_OK,
           "a cookie");
    tap_is(ngx_guildlog_login_cookie_open(pool, &keys, &cookie, &read), NGX_OK,
           "opened");
    tap_is_str(&read.session, SESSION, "the session");
    tap_is_str(&read.user, "9223372036854775807", "the user");
    tap_is_str(&read.name, "Ada", "the name");
    tap_is_str(&read.avatar, "a_0123", "the picture");
    tap_is_str(&read.access, "the.platform-token_of~it", "the token");
    tap_is(read.expires, 2000000000, "when it ends");
    tap_is(read.asked, 1999999000, "when the platform was asked");
    tap_is(read.nguilds, 4, "the servers");
    tap_is_str(&read.guilds[0].icon, "0123456789abcdef0123456789abcdef",
               "an icon");
    tap_is_str(&read.guilds[1].icon, "", "none");
    tap_is_str(&read.guilds[2].icon, "0123456789ABCDEF0123456789abcdef",
               "one of other letters");
    tap_is_str(&read.guilds[3].icon, "a_0123456789abcdef0123456789abcdef",
               "one that moves");
    tap_is_str(&read.guilds[3].id, "100000000000000001", "the id");

    for (opened = 0, i = 0; i < cookie.len; i++) {
        cut = cookie;
        cut.len = i;
        opened += ngx_guildlog_login_cookie_open(pool, &keys, &cut, &read)
                  == NGX_OK;
    }

    tap_is(opened, 0, "cut anywhere it is none");

    /* the last letter has bits that no byte has */

    for (opened = 0, i = 0; i < cookie.len - 1; i++) {
        cookie.data[i] ^= 1;
        opened += ngx_guildlog_login_cookie_open(pool, &keys, &cookie, &read)
                  == NGX_OK;
        cookie.data[i] ^= 1;
    }

    tap_is(opened, 0, "changed anywhere it is none");
}


static void
test_keys(void)
{
    ngx_str_t                    cookie, secret;
    ngx_guildlog_login_keys_t    old, other;
    ngx_guildlog_login_start_t   start, begun;
    ngx_guildlog_login_person_t  person, read;

    old = keys;
    old.keys = &bytes[1];
    old.nkeys = 1;

    person_of(&person, 1);

    (void) ngx_guildlog_login_cookie(pool, &old, &person, &cookie);
    tap_is(ngx_guildlog_login_cookie_open(pool, &keys, &cookie, &read), NGX_OK,
           "a key of before opens");

    (void) ngx_guildlog_login_cookie(pool, &keys, &person, &cookie);
    tap_is(ngx_guildlog_login_cookie_open(pool, &old, &cookie, &read),
           NGX_DECLINED, "the first one seals");

    other = keys;
    other.client = tap_str("another");
    tap_is(ngx_guildlog_login_cookie_open(pool, &other, &cookie, &read),
           NGX_DECLINED, "another client's is none");
    tap_is(ngx_guildlog_login_cookie_open_start(pool, &keys, &cookie, &start),
           NGX_DECLINED, "a person is no sign-in");

    ngx_memset(&begun, 5, sizeof(begun));
    begun.expires = 1234;
    (void) ngx_guildlog_login_cookie_start(pool, &keys, &begun, &cookie);
    tap_is(ngx_guildlog_login_cookie_open(pool, &keys, &cookie, &read),
           NGX_DECLINED, "a sign-in is no person");
    tap_is(ngx_guildlog_login_cookie_open_start(pool, &keys, &cookie, &start),
           NGX_OK, "it is a sign-in");
    tap_is(start.expires, 1234, "until then");
    tap_ok(ngx_memcmp(start.state, begun.state, sizeof(start.state)) == 0
           && ngx_memcmp(start.session, begun.session, sizeof(start.session))
              == 0
           && ngx_memcmp(start.verifier, begun.verifier,
                         sizeof(start.verifier)) == 0, "with all that it has");

    secret = tap_str("a secret");
    tap_is(ngx_guildlog_login_cookie_key(&secret, bytes[1]), NGX_OK,
           "a key of a secret");
    tap_is(bytes[1][0] << 8 | bytes[1][31], 0x4aa4, "by HKDF");
}


static void
test_size(void)
{
    ngx_str_t                    cookie;
    ngx_uint_t                   i, icons;
    ngx_guildlog_login_person_t  person, read;

    person_of(&person, NGX_GUILDLOG_LOGIN_GUILDS);
    tap_is(ngx_guildlog_login_cookie(pool, &keys, &person, &cookie), NGX_OK,
           "a hundred servers");
    tap_ok(cookie.len <= NGX_GUILDLOG_LOGIN_COOKIE, "they fit");
    (void) ngx_guildlog_login_cookie_open(pool, &keys, &cookie, &read);
    tap_is(read.guilds[99].icon.len, 34, "with the last icon");

    for (i = 0; i < person.nguilds; i++) {
        person.guilds[i].icon = tap_str("an_icon_of_a_form_that_is_not_known");
    }

    tap_is(ngx_guildlog_login_cookie(pool, &keys, &person, &cookie), NGX_OK,
           "with icons that are too long");
    tap_ok(cookie.len <= NGX_GUILDLOG_LOGIN_COOKIE, "they fit, too");
    tap_is(ngx_guildlog_login_cookie_open(pool, &keys, &cookie, &read), NGX_OK,
           "opened");

    for (icons = 0, i = 0; i < read.nguilds; i++) {
        icons += read.guilds[i].icon.len != 0;
    }

    tap_is(read.nguilds, 100, "all servers");
    tap_ok(icons > 30 && icons < 100, "without some icons");
}


static void
test_find(void)
{
    size_t     i;
    ngx_str_t  header, name, value;

    static const struct {
        const char  *header;
        const char  *value;    /* NULL: none */
    } rows[] = {
        { "guildlog=a", "a" },
        { "guildlog=a ", "a" },
        { "x=y; guildlog=a; z=b", "a" },
        { "guildlog=a=b", "a=b" },
        { ";; guildlog=", "" },
        { "guildlog_start=a", NULL },
        { "xguildlog=a", NULL },
        { "x=guildlog=a", NULL },
        { "guildlog", NULL },
        { "", NULL },
        { ";", NULL }
    };

    name = tap_str("guildlog");

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        header = tap_str(rows[i].header);

        if (rows[i].value) {
            ngx_str_null(&value);
            (void) ngx_guildlog_login_cookie_find(&header, &name, &value);
            tap_is_str(&value, rows[i].value, rows[i].header);

        } else {
            tap_is(ngx_guildlog_login_cookie_find(&header, &name, &value),
                   NGX_DECLINED, rows[i].header);
        }
    }
}


static void
test_flow(void)
{
    ngx_str_t                   client, secret, redirect, scope, text;
    ngx_guildlog_login_start_t  start;

    ngx_memzero(&start, sizeof(start));

    client = tap_str("4000");
    secret = tap_str("a b:c");
    redirect = tap_str("https://x.example/a?b");
    scope = tap_str("identify guilds");

    (void) ngx_guildlog_login_flow_query(pool, &client, &scope, &redirect,
                                         &start, &text);
    tap_is_str(&text, "response_type=code&client_id=4000"
               "&scope=identify%20guilds"
               "&redirect_uri=https%3A%2F%2Fx.example%2Fa%3Fb"
               "&state=00000000000000000000000000000000"
               "&code_challenge=DwBzhbb51LfusnSGBa_hqYSgo7-j8BTQnip4TOnlzRo"
               "&code_challenge_method=S256", "the query");

    (void) ngx_guildlog_login_flow_form(pool, &secret, &redirect, &start,
                                        &text);
    tap_is_str(&text, "grant_type=authorization_code&code=a%20b%3Ac"
               "&redirect_uri=https%3A%2F%2Fx.example%2Fa%3Fb&code_verifier="
               "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "the form");

    (void) ngx_guildlog_login_flow_basic(pool, &client, &secret, &text);
    tap_is_str(&text, "Basic NDAwMDphJTIwYiUzQWM=", "the client's password");
}


static void
test_answer(void)
{
    size_t                       i;
    json_t                      *json;
    ngx_str_t                    text;
    ngx_guildlog_login_person_t  person;

    static const char  *no_tokens[] = {
        "{}", "[]", "{\"access_token\": \"\", \"token_type\": \"Bearer\"}",
        "{\"access_token\": \"a b\", \"token_type\": \"Bearer\"}",
        "{\"access_token\": \"a\\r\\nb\", \"token_type\": \"Bearer\"}",
        "{\"access_token\": \"a\", \"token_type\": \"MAC\"}",
        "{\"access_token\": 1, \"token_type\": \"Bearer\"}"
    };

    ngx_memzero(&person, sizeof(person));

    for (i = 0; i < sizeof(no_tokens) / sizeof(char *); i++) {
        tap_is(ngx_guildlog_login_answer_token(parse(no_tokens[i]), &text),
               NGX_DECLINED, no_tokens[i]);
    }

    json = parse("{\"access_token\": \"ab\", \"token_type\": \"bearer\"}");
    tap_is(ngx_guildlog_login_answer_token(json, &text), NGX_OK, "a token");

    json = parse("{\"id\": \"12\", \"username\": \"ada\", \"global_name\": "
                 "null, \"avatar\": \"../x\"}");
    tap_is(ngx_guildlog_login_answer_user(json, &person), NGX_OK, "a user");
    tap_is_str(&person.name, "ada", "by the name there is");
    tap_is(person.avatar.len, 0, "a picture has a plain name");
    tap_is(ngx_guildlog_login_answer_user(parse("{\"id\": 12}"), &person),
           NGX_DECLINED, "no id");
    json = parse("{\"id\": \"12\", \"username\": \"\"}");
    tap_is(ngx_guildlog_login_answer_user(json, &person), NGX_OK, "no name");
    tap_is_str(&person.name, "12", "... is told by the id");

    json = parse("["
        "{\"id\": \"1\", \"permissions\": \"32\"},"
        "{\"id\": \"2\", \"permissions\": \"31\"},"
        "{\"id\": \"3\", \"permissions\": \"2199023255495\"},"
        "{\"id\": \"4\", \"owner\": true, \"permissions\": \"0\"},"
        "{\"id\": \"5\", \"owner\": \"true\", \"permissions\": \"-8\"},"
        "{\"id\": \"6\", \"permissions\": \"18446744073709551624\"},"
        "{\"id\": \"7\"}]");
    tap_is(ngx_guildlog_login_answer_guilds(pool, json, &person), NGX_OK,
           "servers");
    (void) ngx_guildlog_login_answer_ids(pool, &person, &text);
    tap_is_str(&text, "{1,2,4,6}", "those that the person manages");

    json = parse("[\"4\", \"9\", \"1\"]");
    tap_is(ngx_guildlog_login_answer_known(pool, json, &person), NGX_OK,
           "those that are known");
    (void) ngx_guildlog_login_answer_ids(pool, &person, &text);
    tap_is_str(&text, "{4,1}", "in that order");

    json = parse("[{\"id\": \"1} or {2\"}]");
    tap_is(ngx_guildlog_login_answer_guilds(pool, json, &person),
           NGX_DECLINED, "an id that is none");
    tap_is(ngx_guildlog_login_answer_guilds(pool, parse("{}"), &person),
           NGX_DECLINED, "no servers");

    person_of(&person, 0);
    (void) ngx_guildlog_login_flow_session(pool, &person, "w0", &text);
    tap_is_str(&text, "~" SESSION ".9223372036854775807.w0",
               "as the database has it");
    tap_ok(text.len <= 64, "no longer than the id of a token");
}


int
main(void)
{
    tap_start();

    pool = tap_pool();

    ngx_memset(bytes[0], 7, sizeof(bytes[0]));
    ngx_memset(bytes[1], 8, sizeof(bytes[1]));

    keys.client = tap_str("4000");
    keys.keys = bytes;
    keys.nkeys = 2;

    test_cookie();
    test_keys();
    test_size();
    test_find();
    test_flow();
    test_answer();

    ngx_destroy_pool(pool);

    return tap_done();
}
