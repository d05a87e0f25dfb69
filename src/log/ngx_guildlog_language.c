
#include "log/ngx_guildlog_language.h"


const char *
ngx_guildlog_language_title(ngx_uint_t type, ngx_uint_t locale)
{
    return ngx_guildlog_titles[locale < NGX_GUILDLOG_LOCALES ? locale : 0]
                              [type];
}


const char *
ngx_guildlog_language_label(ngx_guildlog_label_e label, ngx_uint_t locale)
{
    return ngx_guildlog_labels[locale < NGX_GUILDLOG_LOCALES ? locale : 0]
                              [label];
}
