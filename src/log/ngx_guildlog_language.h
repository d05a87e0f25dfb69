
/*
 * What is known of the log types, and what a guild reads in its own language:
 * their titles and sentences, and the words around them.  Languages are
 * numbered as in "locale".  Pure.
 */

#ifndef _NGX_GUILDLOG_LANGUAGE_H_INCLUDED_
#define _NGX_GUILDLOG_LANGUAGE_H_INCLUDED_


#include "base/ngx_guildlog.h"
#include "base/ngx_guildlog_json.h"


#define NGX_GUILDLOG_LOCALES     19
#define NGX_GUILDLOG_CATEGORIES  9


/* the words of conf/viewer/languages/en-US.tsv */

typedef enum {
    NGX_GUILDLOG_LABEL_EXECUTOR = 0,
    NGX_GUILDLOG_LABEL_TARGET,
    NGX_GUILDLOG_LABEL_CHANNEL,
    NGX_GUILDLOG_LABEL_ROLE,
    NGX_GUILDLOG_LABEL_NAME,
    NGX_GUILDLOG_LABEL_REASON,
    NGX_GUILDLOG_LABEL_COUNT,
    NGX_GUILDLOG_LABEL_EMOJI,
    NGX_GUILDLOG_LABEL_ACTION,
    NGX_GUILDLOG_LABEL_VALUE,
    NGX_GUILDLOG_LABEL_ATTACHMENTS,
    NGX_GUILDLOG_LABEL_BEFORE,
    NGX_GUILDLOG_LABEL_AFTER,
    NGX_GUILDLOG_LABEL_MESSAGES,
    NGX_GUILDLOG_LABEL_MORE,         /* "%ui" stands for how many */
    NGX_GUILDLOG_LABEL_DASHBOARD,    /* the executor "0" */
    NGX_GUILDLOG_LABEL_SUPPORT,
    NGX_GUILDLOG_LABEL_CUSTOMISE,
    NGX_GUILDLOG_LABEL_AUTHOR,
    NGX_GUILDLOG_LABEL_INVITE,
    NGX_GUILDLOG_LABEL_MEMBERS,
    NGX_GUILDLOG_LABEL_UNTIL,
    NGX_GUILDLOG_LABEL_WRITTEN,      /* when a message was */
    NGX_GUILDLOG_LABEL_REGISTERED,   /* when an account was */
    NGX_GUILDLOG_LABEL_MESSAGE,      /* the id of one */
    NGX_GUILDLOG_LABEL_JUMP,
    NGX_GUILDLOG_LABEL_OPEN,
    NGX_GUILDLOG_LABEL_IMAGE,
    NGX_GUILDLOG_LABEL_MEMBER,
    NGX_GUILDLOG_LABEL_MODERATOR,
    NGX_GUILDLOG_LABEL_THREAD,
    NGX_GUILDLOG_LABEL_FROM,
    NGX_GUILDLOG_LABEL_VIA,
    NGX_GUILDLOG_LABEL_USES,
    NGX_GUILDLOG_LABEL_TOPIC,
    NGX_GUILDLOG_LABEL_EVENT,
    NGX_GUILDLOG_LABEL_PLACE,
    NGX_GUILDLOG_LABEL_STATUS,
    NGX_GUILDLOG_LABEL_LEVEL,
    NGX_GUILDLOG_LABEL_RULE,
    NGX_GUILDLOG_LABEL_SOUND,
    NGX_GUILDLOG_LABEL_STICKER,
    NGX_GUILDLOG_LABEL_WEBHOOK,
    NGX_GUILDLOG_LABEL_TAG,
    NGX_GUILDLOG_LABEL_TOKEN,
    NGX_GUILDLOG_LABEL_TYPE,
    NGX_GUILDLOG_LABEL_LIST,
    NGX_GUILDLOG_LABEL_BOOSTS,
    NGX_GUILDLOG_LABEL_FOUND,
    NGX_GUILDLOG_LABEL_ACCESS,
    NGX_GUILDLOG_LABEL_ALERT,
    NGX_GUILDLOG_LABELS
} ngx_guildlog_label_e;


/* the fields that a sentence has places for */

typedef enum {
    NGX_GUILDLOG_PLACE_TEXT = 0,     /* none: what is between them */
    NGX_GUILDLOG_PLACE_EXECUTOR,
    NGX_GUILDLOG_PLACE_TARGET,
    NGX_GUILDLOG_PLACE_CHANNEL,
    NGX_GUILDLOG_PLACE_ROLE,
    NGX_GUILDLOG_PLACE_NAME,
    NGX_GUILDLOG_PLACE_COUNT,
    NGX_GUILDLOG_PLACE_EMOJI,
    NGX_GUILDLOG_PLACE_ACTION,
    NGX_GUILDLOG_PLACE_VALUE,
    NGX_GUILDLOG_PLACE_UNTIL
} ngx_guildlog_place_e;


/* what became of the thing that an entry is about */

typedef enum {
    NGX_GUILDLOG_KIND_OTHER = 0,
    NGX_GUILDLOG_KIND_NEW,
    NGX_GUILDLOG_KIND_CHANGED,
    NGX_GUILDLOG_KIND_GONE
} ngx_guildlog_kind_e;


/* whose id the one of the target is */

typedef enum {
    NGX_GUILDLOG_TARGET_OTHER = 0,
    NGX_GUILDLOG_TARGET_USER,
    NGX_GUILDLOG_TARGET_CHANNEL,     /* or a thread */
    NGX_GUILDLOG_TARGET_ROLE
} ngx_guildlog_target_e;


/* bits: what is special about the entries of a type */

#define NGX_GUILDLOG_MARK_SAID     1   /* their texts are what people wrote */
#define NGX_GUILDLOG_MARK_EDIT     2   /* two messages are before and after */
#define NGX_GUILDLOG_MARK_JUMP     4   /* the message is still there */
#define NGX_GUILDLOG_MARK_FILE     8   /* all messages go into a file */
#define NGX_GUILDLOG_MARK_CHANNEL  16  /* it is about the channel itself */
#define NGX_GUILDLOG_MARK_ACCOUNT  32  /* who joins, with an age */
#define NGX_GUILDLOG_MARK_OWN      64  /* ours: what was done is a code */


#define NGX_GUILDLOG_TYPE_LABELS  10


typedef struct {
    const char                    *key;
    ngx_guildlog_kind_e            kind;
    ngx_guildlog_target_e          target;
    ngx_uint_t                     marks;

    /* of the fields that the first labels are named after, in this type */
    ngx_guildlog_label_e           labels[NGX_GUILDLOG_TYPE_LABELS];
} ngx_guildlog_type_t;


/* the text is empty, unless the place is NGX_GUILDLOG_PLACE_TEXT */

typedef void (*ngx_guildlog_language_pt)(void *data,
    ngx_guildlog_place_e place, const ngx_str_t *text);


/* what a field is called in this type: the target of a message its author */
ngx_guildlog_label_e ngx_guildlog_type_label(ngx_uint_t type,
    ngx_guildlog_label_e label);

/* in the language, or in en-US if there is none of that number */

const char *ngx_guildlog_language_title(ngx_uint_t type, ngx_uint_t locale);
const char *ngx_guildlog_language_label(ngx_guildlog_label_e label,
    ngx_uint_t locale);

/*
 * Says what happened.  has: 1 << place of each field that the entry has.  With
 * the bit of NGX_GUILDLOG_PLACE_TEXT the executor is the target, too: one of
 * both is left out.  write is called once a piece, in order.  Returns the bits
 * of the places that were said; 0: nothing was, the title has to do.
 */

ngx_uint_t ngx_guildlog_language_say(ngx_uint_t type, ngx_uint_t locale,
    ngx_uint_t has, ngx_guildlog_language_pt write, void *data);


/* ngx_guildlog_language_data.c, which ngx_guildlog_language.awk makes */

extern const ngx_guildlog_type_t  ngx_guildlog_types[NGX_GUILDLOG_TYPES];
extern const char *const
    ngx_guildlog_titles[NGX_GUILDLOG_LOCALES][NGX_GUILDLOG_TYPES];
extern const char *const
    ngx_guildlog_sentences[NGX_GUILDLOG_LOCALES][NGX_GUILDLOG_TYPES];
extern const char *const
    ngx_guildlog_labels[NGX_GUILDLOG_LOCALES][NGX_GUILDLOG_LABELS];

/* what GET /log-types answers */

extern const char    ngx_guildlog_types_json[];
extern const size_t  ngx_guildlog_types_json_size;

/* by their names; and which of these each type has */

extern const char *const
    ngx_guildlog_type_categories[NGX_GUILDLOG_CATEGORIES];
extern const u_char  ngx_guildlog_type_category[NGX_GUILDLOG_TYPES];


/*
 * 1 << place of each field that the entry has, as ngx_guildlog_language_say()
 * takes them.  The dashboard, executor 0, is nobody.
 */
ngx_uint_t ngx_guildlog_sentence_has(const json_t *entry);

/* the field that a place is for */
const char *ngx_guildlog_sentence_field(ngx_guildlog_place_e place);


#endif /* _NGX_GUILDLOG_LANGUAGE_H_INCLUDED_ */
