
/*
 * GET /me: what the cookie tells of the person; the database adds the names of
 * the servers, and those whose list of access has the person.
 */

#include "http/ngx_http_guildlog_request.h"


static void me_picture(ngx_guildlog_json_t *w, const char *key,
    const ngx_str_t *name);


ngx_int_t
ngx_http_guildlog_me_start(ngx_http_guildlog_call_t *call)
{
    ngx_uint_t                    i;
    ngx_guildlog_json_t           w;
    ngx_guildlog_login_person_t  *person;

    person = call->ctx->person;

    ngx_guildlog_json_init(&w, call->request->pool,
                           256 + 100 * person->nservers);
    ngx_guildlog_json_begin(&w, '{');

    ngx_guildlog_json_key(&w, "id");
    ngx_guildlog_json_string(&w, &person->user);
    ngx_guildlog_json_key(&w, "name");
    ngx_guildlog_json_string(&w, &person->name);
    me_picture(&w, "avatar", &person->avatar);

    ngx_guildlog_json_key(&w, "servers");
    ngx_guildlog_json_begin(&w, '[');

    for (i = 0; i < person->nservers; i++) {
        ngx_guildlog_json_begin(&w, '{');
        ngx_guildlog_json_key(&w, "id");
        ngx_guildlog_json_string(&w, &person->servers[i].id);
        me_picture(&w, "icon", &person->servers[i].icon);
        ngx_guildlog_json_end(&w);
    }

    ngx_guildlog_json_end(&w);
    ngx_guildlog_json_end(&w);

    if (ngx_guildlog_json_written(&w, &call->args[call->nargs++]) != NGX_OK) {
        return NGX_ERROR;
    }

    return ngx_http_guildlog_call_ask(call, call->route->stmt);
}


static void
me_picture(ngx_guildlog_json_t *w, const char *key, const ngx_str_t *name)
{
    ngx_guildlog_json_key(w, key);

    if (name->len) {
        ngx_guildlog_json_string(w, name);
    } else {
        ngx_guildlog_json_null(w);
    }
}
