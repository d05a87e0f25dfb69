
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
person_of(ngx_guildlog_login_person_t *person)
{
    ngx_memzero(person, sizeof(ngx_guildlog_login_person_t));

    person->session = tap_str(SESSION);
    person->user = tap_str("9223372036854775807");
    person->access = tap_str("the.platform-token_of~it");
    person->expires = 2000000000;
}


/* how many of the same length, or shorter, open as what they are made from */

static ngx_uint_t
spoilt(ngx_str_t *sealed,
    ngx_int_t (*open)(ngx_pool_t *pool, const ngx_guildlog_login_keys_t *keys,
                      const ngx_str_t *sealed,
                      ngx_guildlog_login_person_t *person))
{
    ngx_str_t                    cut;
    ngx_uint_t                   i, opened;
    ngx_guildlog_login_person_t  person;

    opened = 0;
    person_of(&person);

    for (i = 0; i < sealed->len; i++) {
        cut = *sealed;
        cut.len = i;
        opened += open(pool, &keys, &cut, &person) == NGX_OK;
    }

    /* the last letter has bits that no byte has */

    for (i = 0; i < sealed->len - 1; i++) {
        sealed->data[i] ^= 1;
        opened += open(pool, &keys, sealed, &person) == NGX_OK;
        sealed->data[i] ^= 1;
    }

    return opened;
}


static void
test_cookie(void)
{
    ngx_str_t                    cookie, access;
    ngx_guildlog_login_person_t  person, read;

    person_of(&person);

    tap_is(ngx_guildlog_login_cookie(pool, &keys, &person, &cookie), NGX_OK,
           "a cookie");
    tap_is(ngx_guildlog_login_cookie_open(pool, &keys, &cookie, &read), NGX_OK,
           "opened");
    tap_is_str(&read.session, SESSION, "the session");
    tap_is_str(&read.user, "9223372036854775807", "the user");
    tap_is(read.expires, 2000000000, "when it ends");
    tap_is_str(&read.access, "", "nothing else");
    tap_is(spoilt(&cookie, ngx_guildlog_login_cookie_open), 0,
           "cut or changed anywhere it is none");

    tap_is(ngx_guildlog_login_cookie_access(pool, &keys, &person, &access),
           NGX_OK, "the platform's token");
    tap_is(ngx_guildlog_login_cookie_open_access(pool, &keys, &access, &read),
           NGX_OK, "opened");
    tap_is_str(&read.access, "the.platform-token_of~it", "it");
    tap_is(spoilt(&access, ngx_guildlog_login_cookie_open_access), 0,
           "cut or changed anywhere it is none");

    tap_is(ngx_guildlog_login_cookie_open(pool, &keys, &access, &read),
           NGX_DECLINED, "it is no cookie");
    tap_is(ngx_guildlog_login_cookie_open_access(pool, &keys, &cookie, &read),
           NGX_DECLINED, "a cookie is none");

    person.session = tap_str("f" SESSION);
    person.session.len--;
    tap_is(ngx_guildlog_login_cookie_open_access(pool, &keys, &access,
                                                 &person),
           NGX_DECLINED, "nor is it of another session");
}


/* what was sealed may be of another version */

static void
test_versions(void)
{
    size_t                       i;
    ngx_str_t                    plain, raw, owner, cookie;
    ngx_guildlog_login_person_t  read;

    static const char  *texts[] = {
        "", ".", "..", SESSION, SESSION ".7", SESSION ".7.", SESSION "..1",
        SESSION ".x.1", SESSION ".7.x", SESSION "0.7.1", ".7.1"
    };

    owner = tap_str("guildlog session of 4000");
    cookie.data = ngx_pnalloc(pool, 1024);

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        plain = tap_str(texts[i]);
        (void) ngx_guildlog_seal_raw(pool, keys.keys[0], &owner, &plain, &raw);
        ngx_encode_base64url(&cookie, &raw);

        tap_is(ngx_guildlog_login_cookie_open(pool, &keys, &cookie, &read),
               NGX_DECLINED, texts[i]);
    }
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

    person_of(&person);

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
    ngx_str_t                     text;
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
        "{\"id\": \"1\", \"icon\": \"a_0\", \"permissions\": \"32\"},"
        "{\"id\": \"2\", \"permissions\": \"31\"},"
        "{\"id\": \"3\", \"permissions\": \"2199023255495\"},"
        "{\"id\": \"4\", \"icon\": \"{}\", \"owner\": true},"
        "{\"id\": \"5\", \"owner\": \"true\", \"permissions\": \"-8\"},"
        "{\"id\": \"6\", \"permissions\": \"18446744073709551624\"},"
        "{\"id\": \"7\"}]");
    tap_is(ngx_guildlog_login_answer_guilds(pool, json, &person), NGX_OK,
           "servers");
    tap_is_str(&person.guilds, "{\"1\",\"2\",\"4\",\"6\"}",
               "those that the person manages");
    tap_is_str(&person.icons, "{\"a_0\",NULL,NULL,NULL}",
               "with their pictures");

    json = parse("[{\"id\": \"1} or {2\"}]");
    tap_is(ngx_guildlog_login_answer_guilds(pool, json, &person),
           NGX_DECLINED, "an id that is none");
    tap_is(ngx_guildlog_login_answer_guilds(pool, parse("{}"), &person),
           NGX_DECLINED, "no servers");

    person_of(&person);
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
    test_versions();
    test_find();
    test_flow();
    test_answer();

    ngx_destroy_pool(pool);

    return tap_done();
}
