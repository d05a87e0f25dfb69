
/*
 * The rows of the table that a packet fits, and what their paths lead to.
 */

#ifndef _NGX_GUILDLOG_ROW_H_INCLUDED_
#define _NGX_GUILDLOG_ROW_H_INCLUDED_


#include "events/ngx_guildlog_known.h"


#define NGX_GUILDLOG_EVENT_KEYS  64    /* changes of a packet, taken */


/* a packet whose entries are made */

typedef struct {
    ngx_guildlog_known_t            *known;
    ngx_guildlog_event_t            *event;
    const ngx_guildlog_event_kind_t *kind;
    const ngx_guildlog_event_row_t  *row;
    json_t                          *changes;  /* of an audit entry, or NULL */
    json_t                          *was;      /* NULL: nothing is known */
    json_t                          *entry;
    json_t                          *made;     /* holds what was made here */
    json_t                          *wanted;   /* people without a name */
    const char                      *taken[NGX_GUILDLOG_EVENT_KEYS];
    ngx_uint_t                       ntaken;
    const char                      *told[NGX_GUILDLOG_EVENT_KEYS];
    ngx_uint_t                       ntold;
    const char                      *mine;     /* the row's key; NULL: what is
                                                  left */
    ngx_uint_t                       n;        /* entries so far */
    unsigned                         all:1;
    unsigned                         fitted:1;
    unsigned                         failed:1; /* no memory */
} ngx_guildlog_make_t;


/* the rows there are; NULL: nobody knows the event */
const ngx_guildlog_event_kind_t *ngx_guildlog_row_kind(
    ngx_guildlog_event_t *event);

/* what the rows ask of the guild */
ngx_int_t ngx_guildlog_row_needs(ngx_guildlog_known_t *known,
    ngx_guildlog_event_t *event);

/* what is known in its guild, borrowed; NULL: nothing */
json_t *ngx_guildlog_row_known(ngx_guildlog_make_t *m,
    ngx_guildlog_known_kind_e kind, uint64_t id);

/* what was known before of what it is about; NULL: nothing */
json_t *ngx_guildlog_row_was(ngx_guildlog_make_t *m);

/* was it told before: by another bot, or the same one once more? */
ngx_uint_t ngx_guildlog_row_is_old(ngx_guildlog_make_t *m);

/* is make->row for it?  Then it is taken */
ngx_uint_t ngx_guildlog_row_fits(ngx_guildlog_make_t *m);

/* is it one of the keys? */
ngx_uint_t ngx_guildlog_row_has(const char **keys, ngx_uint_t n,
    const char *key);

/* a change that no row was for, of those that people want to be told */
ngx_uint_t ngx_guildlog_row_is_left(ngx_guildlog_make_t *m,
    json_t *change);

/* the change of that key; NULL: there is none */
json_t *ngx_guildlog_row_change(ngx_guildlog_make_t *m,
    const char *key);

/* is it there, and more than nothing? */
ngx_uint_t ngx_guildlog_row_given(json_t *value);

/* keeps a value until all entries are made */
json_t *ngx_guildlog_row_made(ngx_guildlog_make_t *m,
    json_t *value);

/* what a path leads to, borrowed; NULL: nothing */
json_t *ngx_guildlog_row_at(ngx_guildlog_make_t *m,
    const char *path);

/* of the first path of a field that leads somewhere */
json_t *ngx_guildlog_row_first(ngx_guildlog_make_t *m,
    const ngx_guildlog_event_set_t *set);


#endif /* _NGX_GUILDLOG_ROW_H_INCLUDED_ */
