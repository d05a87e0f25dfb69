
/*
 * The terms of a query: they are looked up in the buckets of a segment, its
 * role is looked for in all roles.
 */

#include "search/ngx_guildlog_find_part.h"


#define FIND_TERMS_RECORD  6    /* the work of one */


static ngx_int_t find_terms_read(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_int_t find_terms_has(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_str_t *name,
    const ngx_str_t *postings);
static ngx_int_t find_terms_word(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_str_t *postings);
static ngx_int_t find_terms_roles(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part);
static ngx_int_t find_terms_record(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part, ngx_str_t *name, ngx_str_t *postings);


ngx_int_t
ngx_guildlog_find_terms(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment)
{
    uint32_t                    from, to;
    ngx_uint_t                  i, k, bucket, mask;
    ngx_guildlog_find_term_t   *terms;
    ngx_guildlog_find_state_t  *state;

    state = find->state;
    terms = state->terms;
    mask = segment->nbuckets - 1;

    state->left -= state->nterms * state->nterms;

    for (i = 0; i < state->nterms; i++) {
        bucket = terms[i].hash & mask;

        /* each bucket once */

        for (k = 0; (terms[k].hash & mask) != bucket; k++) { /* void */ }

        bucket += NGX_GUILDLOG_SEGMENT_BUCKET;
        from = ngx_guildlog_find_part_from(segment, bucket);
        to = ngx_guildlog_find_part_from(segment, bucket + 1);

        if (k == i && from < to
            && ngx_guildlog_find_part_want(find, segment, find_terms_read,
                                           from, to - from)
               == NULL)
        {
            return NGX_ERROR;
        }
    }

    if (!state->asks[NGX_GUILDLOG_FIND_ROLE]) {
        return NGX_OK;
    }

    /* behind their number */

    from = ngx_guildlog_find_part_from(segment, NGX_GUILDLOG_SEGMENT_ROLES)
           + 4;
    to = ngx_guildlog_find_part_from(segment, NGX_GUILDLOG_SEGMENT_BUCKET);

    if (from < to
        && ngx_guildlog_find_part_want(find, segment, find_terms_roles,
                                       from, to - from)
           == NULL)
    {
        return NGX_ERROR;
    }

    return NGX_OK;
}


static ngx_int_t
find_terms_read(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part)
{
    ngx_int_t  rc;
    ngx_str_t  name, postings;

    ngx_str_null(&name);
    ngx_str_null(&postings);

    do {
        rc = find_terms_record(find, part, &name, &postings);

        if (rc == NGX_OK) {
            rc = find_terms_has(find, part->segment, &name, &postings);
        }

    } while (rc == NGX_OK);

    return rc == NGX_DONE ? NGX_OK : rc;
}


static ngx_int_t
find_terms_has(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_str_t *name,
    const ngx_str_t *postings)
{
    ngx_int_t                  rc;
    ngx_guildlog_find_term_t  *term, *last;

    term = find->state->terms;

    for (last = term + find->state->nterms; term < last; term++) {

        if (!ngx_guildlog_str_eq(&term->text, name)) {
            continue;
        }

        rc = (term->set == NGX_GUILDLOG_FIND_WORDS)
             ? find_terms_word(find, segment, postings)
             : ngx_guildlog_find_part_add(find, segment, term->set, postings);

        if (rc != NGX_OK) {
            return rc;
        }
    }

    return NGX_OK;
}


/* entries have to have all words */

static ngx_int_t
find_terms_word(ngx_guildlog_find_t *find,
    ngx_guildlog_find_segment_t *segment, const ngx_str_t *postings)
{
    uint64_t    *bits, *spare;
    ngx_uint_t   i, n;

    if (segment->nwords++ == 0) {
        return ngx_guildlog_find_part_add(find, segment,
                                          NGX_GUILDLOG_FIND_WORDS, postings);
    }

    bits = segment->sets[NGX_GUILDLOG_FIND_WORDS];
    spare = find->state->spare;
    n = ngx_guildlog_segment_words(segment->n);

    ngx_memzero(spare, n * sizeof(uint64_t));
    find->state->left -= 2 * postings->len;

    if (ngx_guildlog_segment_postings(postings, segment->n, spare) != NGX_OK) {
        return ngx_guildlog_find_part_bad(find, segment);
    }

    for (i = 0; i < n; i++) {
        bits[i] &= spare[i];
    }

    return NGX_OK;
}


static ngx_int_t
find_terms_roles(ngx_guildlog_find_t *find, ngx_guildlog_find_part_t *part)
{
    ngx_int_t         rc;
    ngx_str_t         name, postings;
    const ngx_str_t  *role;

    role = &find->state->match->role;

    do {
        rc = find_terms_record(find, part, &name, &postings);

        if (rc == NGX_OK
            && memmem(name.data, name.len, role->data, role->len))
        {
            rc = ngx_guildlog_find_part_add(find, part->segment,
                                            NGX_GUILDLOG_FIND_ROLE,
                                            &postings);
        }

    } while (rc == NGX_OK);

    return rc == NGX_DONE ? NGX_OK : rc;
}


/* a name and its postings; NGX_DONE: there is no more that is whole */

static ngx_int_t
find_terms_record(ngx_guildlog_find_t *find,
    ngx_guildlog_find_part_t *part, ngx_str_t *name, ngx_str_t *postings)
{
    ngx_int_t      rc;
    const u_char  *p, *last;

    if (find->state->left <= 0) {
        return NGX_BUSY;
    }

    p = part->bytes + part->pos;
    last = part->bytes + part->size;

    rc = ngx_guildlog_segment_bytes(&p, last, name);

    if (rc == NGX_OK) {
        rc = ngx_guildlog_segment_bytes(&p, last, postings);
    }

    if (rc == NGX_AGAIN) {
        return NGX_DONE;
    }

    if (rc == NGX_ERROR) {
        return ngx_guildlog_find_part_bad(find, part->segment);
    }

    part->pos = p - part->bytes;
    find->state->left -= FIND_TERMS_RECORD + find->state->nterms;

    return NGX_OK;
}
