
/*
 * What a request asks for of a log, as the matcher takes it.
 */

#include "http/ngx_http_guildlog_filter.h"
#include "log/ngx_guildlog_language.h"


/* more bytes than a quoted number or name of a category has */
#define FILTER_ITEM  64


static ngx_int_t filter_types(
    ngx_http_guildlog_filter_t *filter, ngx_pool_t *pool,
    const ngx_str_t *args);
static ngx_uint_t filter_has(const ngx_str_t *array,
    const char *item);
static int64_t filter_number(const ngx_str_t *arg,
    int64_t none);


ngx_int_t
ngx_http_guildlog_filter_read(ngx_http_guildlog_filter_t *filter,
    ngx_pool_t *pool, const ngx_str_t *args)
{
    const ngx_str_t       *side, *role, *search;
    ngx_guildlog_match_t  *match;

    match = &filter->match;
    ngx_guildlog_match_init(match);

    match->after = filter_number(
                          &args[NGX_HTTP_GUILDLOG_FILTER_AFTER], match->after);
    match->before = filter_number(
                        &args[NGX_HTTP_GUILDLOG_FILTER_BEFORE], match->before);
    match->channel = filter_number(
                      &args[NGX_HTTP_GUILDLOG_FILTER_CHANNEL], match->channel);
    match->member = filter_number(
                        &args[NGX_HTTP_GUILDLOG_FILTER_MEMBER], match->member);

    side = &args[NGX_HTTP_GUILDLOG_FILTER_SIDE];

    if (side->len == sizeof("executor") - 1) {
        match->side = NGX_GUILDLOG_MATCH_EXECUTOR;

    } else if (side->data && *side->data == 't') {
        match->side = NGX_GUILDLOG_MATCH_TARGET;
    }

    role = &args[NGX_HTTP_GUILDLOG_FILTER_ROLE];

    if (role->data && ngx_guildlog_match_role(match, pool, role) != NGX_OK) {
        return NGX_ERROR;
    }

    search = &args[NGX_HTTP_GUILDLOG_FILTER_SEARCH];

    if (search->data
        && ngx_guildlog_match_search(match, pool, search) != NGX_OK)
    {
        return NGX_ERROR;
    }

    return filter_types(filter, pool, args);
}


static ngx_int_t
filter_types(ngx_http_guildlog_filter_t *filter,
    ngx_pool_t *pool, const ngx_str_t *args)
{
    u_char            number[NGX_INT_T_LEN + 1], *types;
    ngx_uint_t        i, asked;
    const char       *name;
    const ngx_str_t  *type, *category;

    filter->shown = NULL;

    type = &args[NGX_HTTP_GUILDLOG_FILTER_TYPE];
    category = &args[NGX_HTTP_GUILDLOG_FILTER_CATEGORY];

    if (type->data == NULL && category->data == NULL) {
        return NGX_OK;
    }

    types = ngx_pnalloc(pool, 2 * NGX_GUILDLOG_TYPES);
    if (types == NULL) {
        return NGX_ERROR;
    }

    filter->match.types = type->data ? types : NULL;
    filter->shown = types + NGX_GUILDLOG_TYPES;

    for (i = 0; i < NGX_GUILDLOG_TYPES; i++) {
        ngx_sprintf(number, "%ui%Z", i);
        asked = filter_has(type, (char *) number);

        types[i] = asked ? '1' : '0';

        name = ngx_guildlog_type_categories[ngx_guildlog_type_category[i]];
        asked = asked && filter_has(category, name);

        filter->shown[i] = asked ? '1' : '0';
    }

    return NGX_OK;
}


/* is it in the SQL array, where each item is quoted?  Without one all are */

static ngx_uint_t
filter_has(const ngx_str_t *array, const char *item)
{
    u_char  *p, quoted[FILTER_ITEM];

    p = ngx_snprintf(quoted, sizeof(quoted), "\"%s\"", item);

    return array->data == NULL
           || memmem(array->data, array->len, quoted, p - quoted) != NULL;
}


static int64_t
filter_number(const ngx_str_t *arg, int64_t none)
{
    if (arg->data == NULL) {
        return none;
    }

    return *arg->data == '-' ? -ngx_atoof(arg->data + 1, arg->len - 1)
                             : ngx_atoof(arg->data, arg->len);
}


/* the side of a member alone says nothing */

ngx_uint_t
ngx_http_guildlog_filter_finds(const ngx_str_t *args)
{
    return args[NGX_HTTP_GUILDLOG_FILTER_SEARCH].data
           || args[NGX_HTTP_GUILDLOG_FILTER_CHANNEL].data
           || args[NGX_HTTP_GUILDLOG_FILTER_MEMBER].data
           || args[NGX_HTTP_GUILDLOG_FILTER_ROLE].data;
}


ngx_uint_t
ngx_http_guildlog_filter_narrow(ngx_str_t *args, ngx_uint_t nargs)
{
    ngx_memmove(&args[NGX_HTTP_GUILDLOG_FILTER_SEARCH],
                &args[NGX_HTTP_GUILDLOG_FILTER_LAST],
                (nargs - NGX_HTTP_GUILDLOG_FILTER_LAST) * sizeof(ngx_str_t));

    return nargs - NGX_HTTP_GUILDLOG_FILTER_LAST
           + NGX_HTTP_GUILDLOG_FILTER_SEARCH;
}
