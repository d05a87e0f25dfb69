
/*
 * What the platform answers of a person: a token, the user, the guilds.
 */

#include "login/ngx_guildlog_login.h"
#include "api/ngx_guildlog_value.h"
#include "base/ngx_guildlog.h"


/* of the person at a server: administrator, manage server */
#define ANSWER_MANAGES  (0x8 | 0x20)

/* bytes */
#define ANSWER_TOKEN    512
#define ANSWER_NAME     128
#define ANSWER_ICON     40


static ngx_uint_t answer_manages(const json_t *guild);
static ngx_str_t answer_icon(const json_t *icon);


ngx_int_t
ngx_guildlog_login_answer_token(const json_t *json, ngx_str_t *access)
{
    u_char     *p;
    ngx_str_t   type;

    *access = ngx_guildlog_json_get(json, "access_token");
    type = ngx_guildlog_json_get(json, "token_type");

    if (access->len == 0 || access->len > ANSWER_TOKEN
        || type.len != sizeof("Bearer") - 1
        || ngx_strncasecmp(type.data, (u_char *) "Bearer", type.len) != 0)
    {
        return NGX_DECLINED;
    }

    for (p = access->data; p < access->data + access->len; p++) {
        if (*p <= ' ' || *p >= 0x7f) {
            return NGX_DECLINED;
        }
    }

    return NGX_OK;
}


ngx_int_t
ngx_guildlog_login_answer_user(const json_t *json,
    ngx_guildlog_login_person_t *person)
{
    person->user = ngx_guildlog_json_get(json, "id");
    person->name = ngx_guildlog_json_get(json, "global_name");
    person->avatar = answer_icon(json_object_get(json, "avatar"));

    if (person->name.len == 0) {
        person->name = ngx_guildlog_json_get(json, "username");
    }

    if (person->name.len == 0) {
        person->name = person->user;
    }

    person->name.len = ngx_guildlog_utf8_cut(person->name.data,
                                             person->name.len, ANSWER_NAME);

    return ngx_guildlog_value_is_id(&person->user) ? NGX_OK : NGX_DECLINED;
}


ngx_int_t
ngx_guildlog_login_answer_guilds(ngx_pool_t *pool, const json_t *json,
    ngx_guildlog_login_person_t *person)
{
    size_t      i, n;
    json_t     *guild;
    ngx_str_t   id, icon;

    if (!json_is_array(json)) {
        return NGX_DECLINED;
    }

    n = json_array_size(json);
    person->nguilds = 0;

    if (ngx_guildlog_value_array(&person->guilds, pool, n, n * NGX_INT64_LEN)
        != NGX_OK
        || ngx_guildlog_value_array(&person->icons, pool, n, n * ANSWER_ICON)
           != NGX_OK)
    {
        return NGX_ERROR;
    }

    json_array_foreach(json, i, guild) {
        id = ngx_guildlog_json_get(guild, "id");

        if (!ngx_guildlog_value_is_id(&id)) {
            return NGX_DECLINED;
        }

        if (answer_manages(guild)) {
            icon = answer_icon(json_object_get(guild, "icon"));

            ngx_guildlog_value_array_add(&person->guilds, &id);
            ngx_guildlog_value_array_add(&person->icons,
                                         icon.len ? &icon : NULL);
            person->nguilds++;
        }
    }

    ngx_guildlog_value_array_end(&person->guilds);
    ngx_guildlog_value_array_end(&person->icons);

    return NGX_OK;
}


/* the permissions are a number in a string, for it may have over 53 bits */

static ngx_uint_t
answer_manages(const json_t *guild)
{
    u_char     *p;
    uint64_t    bits;
    ngx_str_t   text;

    if (json_is_true(json_object_get(guild, "owner"))) {
        return 1;
    }

    text = ngx_guildlog_json_get(guild, "permissions");
    bits = 0;

    for (p = text.data; p < text.data + text.len; p++) {
        if (*p < '0' || *p > '9') {
            return 0;
        }

        /* what overflows are higher bits */

        bits = bits * 10 + (*p - '0');
    }

    return (bits & ANSWER_MANAGES) != 0;
}


/* the name of a picture; one that is no name is left out */

static ngx_str_t
answer_icon(const json_t *icon)
{
    ngx_str_t  text;

    text = ngx_guildlog_json_text(icon);

    if (text.len > ANSWER_ICON || !ngx_guildlog_is_letters(&text, "_")) {
        text.len = 0;
    }

    return text;
}
