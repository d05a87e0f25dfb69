
/*
 * Each server has a share of a group of connections: a number of its
 * statements are in flight at a time, the others wait, and the servers take
 * turns.  A server that asks much waits for itself, and no other does.
 */

#include "db/ngx_guildlog_db.h"


/* the share of statements for several servers: no server has that id */
#define DB_SHARE_SEVERAL  1


static ngx_rbtree_key_t db_share_key(ngx_guildlog_db_query_t *query);
static ngx_guildlog_db_share_t *db_share_find(ngx_guildlog_db_group_t *group,
    ngx_rbtree_key_t key);


void
ngx_guildlog_db_share_init(ngx_guildlog_db_group_t *group)
{
    ngx_queue_init(&group->waiting);
    ngx_rbtree_init(&group->shares, &group->sentinel, ngx_rbtree_insert_value);
}


ngx_int_t
ngx_guildlog_db_share_join(ngx_guildlog_db_group_t *group,
    ngx_guildlog_db_query_t *query)
{
    ngx_rbtree_key_t          key;
    ngx_guildlog_db_share_t  *share;

    key = db_share_key(query);

    share = db_share_find(group, key);

    if (share == NULL) {
        share = ngx_calloc(sizeof(ngx_guildlog_db_share_t), group->pool->log);
        if (share == NULL) {
            return NGX_ERROR;
        }

        share->node.key = key;
        share->group = group;
        ngx_queue_init(&share->waiting);

        ngx_rbtree_insert(&group->shares, &share->node);
    }

    share->refs++;
    query->share = share;

    return NGX_OK;
}


/* an argument that is no number has no server: the database will refuse it */

static ngx_rbtree_key_t
db_share_key(ngx_guildlog_db_query_t *query)
{
    int64_t      payer;
    ngx_str_t    token, guild;
    ngx_uint_t   flags, first;
    const char  *value;

    flags = query->stmt->flags;

    if (flags & (NGX_GUILDLOG_STMT_NONE|NGX_GUILDLOG_STMT_DELIVERY
                 |NGX_GUILDLOG_STMT_BACKGROUND))
    {
        return 0;
    }

    if (flags & NGX_GUILDLOG_STMT_SEVERAL) {
        return DB_SHARE_SEVERAL << 1 | 1;
    }

    first = (flags & NGX_GUILDLOG_STMT_FIRST) != 0;
    value = query->stmt->nargs > !first ? query->values[!first] : NULL;

    if (value == NULL) {
        return 0;
    }

    ngx_str_null(&token);

    if (!first && query->values[0]) {
        token.data = (u_char *) query->values[0];
        token.len = ngx_strlen(token.data);
    }

    guild.data = (u_char *) value;
    guild.len = ngx_strlen(value);

    payer = ngx_guildlog_db_share_payer(&token, &guild);

    return payer > 0 ? (ngx_rbtree_key_t) payer << 1 | first : 0;
}


/*
 * Whether somebody who signed in may ask for a server, only the database knows,
 * unless the platform says it (the right is m): until then it is the person's
 * own share, or everybody could use up those of all servers.  What is of no
 * server ("0") is the person's, too.  The form of a session:
 * sql/functions/core/session.sql.
 */

int64_t
ngx_guildlog_db_share_payer(const ngx_str_t *token, const ngx_str_t *guild)
{
    u_char  *user, *right, *last;

    last = token->data + token->len;

    if (token->len && *token->data == '~') {
        user = ngx_strlchr(token->data, last, '.');
        right = user ? ngx_strlchr(user + 1, last, '.') : NULL;

        if (right
            && (right + 1 == last || right[1] != 'm' || *guild->data == '0'))
        {
            return ngx_atoof(user + 1, right - user - 1);
        }
    }

    return ngx_atoof(guild->data, guild->len);
}


static ngx_guildlog_db_share_t *
db_share_find(ngx_guildlog_db_group_t *group, ngx_rbtree_key_t key)
{
    ngx_rbtree_node_t  *node;

    node = group->shares.root;

    while (node != &group->sentinel) {

        if (key == node->key) {
            return ngx_rbtree_data(node, ngx_guildlog_db_share_t, node);
        }

        node = key < node->key ? node->left : node->right;
    }

    return NULL;
}


void
ngx_guildlog_db_share_quit(ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_share_t  *share;

    share = query->share;

    if (share && --share->refs == 0) {
        ngx_rbtree_delete(&share->group->shares, &share->node);
        ngx_free(share);
    }
}


void
ngx_guildlog_db_share_wait(ngx_guildlog_db_query_t *query, ngx_uint_t first)
{
    ngx_guildlog_db_group_t  *group;
    ngx_guildlog_db_share_t  *share;

    share = query->share;
    group = share->group;

    if (share->nwaiting && first) {
        ngx_queue_remove(&share->queue);
    }

    if (first) {
        ngx_queue_insert_head(&share->waiting, &query->queue);
        ngx_queue_insert_head(&group->waiting, &share->queue);

    } else {
        ngx_queue_insert_tail(&share->waiting, &query->queue);

        if (share->nwaiting == 0) {
            ngx_queue_insert_tail(&group->waiting, &share->queue);
        }
    }

    if (query->stmt->flags & NGX_GUILDLOG_STMT_PATIENT) {
        share->npatient++;
    }

    share->nwaiting++;
    group->nwaiting++;
}


void
ngx_guildlog_db_share_leave(ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_share_t  *share;

    share = query->share;

    ngx_queue_remove(&query->queue);
    share->group->nwaiting--;

    if (query->stmt->flags & NGX_GUILDLOG_STMT_PATIENT) {
        share->npatient--;
    }

    if (--share->nwaiting == 0) {
        ngx_queue_remove(&share->queue);
    }
}


/* SERIAL queries, one behind the other on one connection, do not count */

void
ngx_guildlog_db_share_count(ngx_guildlog_db_query_t *query, ngx_int_t n)
{
    if (!(query->stmt->flags & NGX_GUILDLOG_STMT_SERIAL)) {
        query->share->nflight += n;
    }
}


/* a query of no server is not bounded here */

ngx_uint_t
ngx_guildlog_db_share_full(ngx_guildlog_db_query_t *query)
{
    return query->share->node.key
           && !(query->stmt->flags & NGX_GUILDLOG_STMT_SERIAL)
           && query->share->nflight >= query->share->group->share_flight;
}


/* PATIENT queries take no place in the line of the others */

ngx_uint_t
ngx_guildlog_db_share_line_full(ngx_guildlog_db_query_t *query)
{
    ngx_guildlog_db_group_t  *group;
    ngx_guildlog_db_share_t  *share;

    share = query->share;
    group = share->group;

    if (share->node.key == 0) {
        return 0;
    }

    if (share->nwaiting >= group->share_half) {
        return 1;
    }

    return !(query->stmt->flags & NGX_GUILDLOG_STMT_PATIENT)
           && share->nwaiting - share->npatient >= group->share_line;
}


/*
 * An equal length does not count: the newcomer would take its place.  Who is
 * PATIENT has half of an answer, and stays.
 */

ngx_guildlog_db_query_t *
ngx_guildlog_db_share_longest(ngx_guildlog_db_query_t *query)
{
    ngx_uint_t                n, most;
    ngx_queue_t              *q;
    ngx_guildlog_db_query_t  *other;
    ngx_guildlog_db_share_t  *share, *longest;

    longest = NULL;
    most = query->share->nwaiting + 1;

    ngx_guildlog_queue_each(q, &query->share->group->waiting) {
        share = ngx_queue_data(q, ngx_guildlog_db_share_t, queue);
        n = share->nwaiting - share->npatient;

        if (share->node.key && n > most) {
            most = n;
            longest = share;
        }
    }

    if (longest == NULL) {
        return NULL;
    }

    q = &longest->waiting;

    do {
        q = ngx_queue_prev(q);
        other = ngx_queue_data(q, ngx_guildlog_db_query_t, queue);
    } while (other->stmt->flags & NGX_GUILDLOG_STMT_PATIENT);

    return other;
}


ngx_uint_t
ngx_guildlog_db_share_same(ngx_guildlog_db_query_t *query,
    ngx_guildlog_db_query_t *other)
{
    return query->share->node.key >> 1 == other->share->node.key >> 1;
}
