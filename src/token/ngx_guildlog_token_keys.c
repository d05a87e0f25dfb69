
/*
 * Key files, read when the configuration is.
 */

#include <ngx_config.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include "token/ngx_guildlog_token_keys.h"


#define TOKEN_KEYS_FILE_MAX    65536
#define TOKEN_KEYS_SECRET_MIN  32
#define TOKEN_KEYS_RSA_MIN     2048


typedef struct {
    ngx_str_t                      name;
    int                            type;    /* EVP_PKEY_*; NONE: a secret */
    int                            curve;
} token_keys_alg_t;


/* a file while it is read */

typedef struct {
    ngx_conf_t                    *cf;
    const token_keys_alg_t        *alg;
    ngx_guildlog_token_key_t      *key;
    ngx_str_t                      text;
    ngx_uint_t                     access;
} token_keys_file_t;


static char *token_keys_option(ngx_conf_t *cf, ngx_guildlog_token_keys_t *keys,
    ngx_guildlog_token_key_t *key, ngx_str_t *arg);
static char *token_keys_load(token_keys_file_t *f);
static char *token_keys_read(token_keys_file_t *f);
static char *token_keys_secret(token_keys_file_t *f);
static char *token_keys_derive(token_keys_file_t *f, EVP_PKEY *pkey);
static char *token_keys_fits(token_keys_file_t *f, EVP_PKEY *pkey);
static char *token_keys_closed(token_keys_file_t *f);
static int token_keys_no_password(char *buf, int size, int rwflag, void *data);
static u_char *token_keys_alloc(ngx_conf_t *cf, size_t size);
static void token_keys_wipe(void *data);
static char *token_keys_refuse(token_keys_file_t *f, const char *why);


static const token_keys_alg_t  token_keys_algs[] = {
    { ngx_string("HS256"), EVP_PKEY_NONE, 0 },
    { ngx_string("HS384"), EVP_PKEY_NONE, 0 },
    { ngx_string("HS512"), EVP_PKEY_NONE, 0 },
    { ngx_string("RS256"), EVP_PKEY_RSA, 0 },
    { ngx_string("RS384"), EVP_PKEY_RSA, 0 },
    { ngx_string("RS512"), EVP_PKEY_RSA, 0 },
    { ngx_string("PS256"), EVP_PKEY_RSA, 0 },
    { ngx_string("PS384"), EVP_PKEY_RSA, 0 },
    { ngx_string("PS512"), EVP_PKEY_RSA, 0 },
    { ngx_string("ES256"), EVP_PKEY_EC, NID_X9_62_prime256v1 },
    { ngx_string("ES384"), EVP_PKEY_EC, NID_secp384r1 },
    { ngx_string("ES512"), EVP_PKEY_EC, NID_secp521r1 },
    { ngx_string("EdDSA"), EVP_PKEY_ED25519, 0 },
    { ngx_null_string, EVP_PKEY_NONE, 0 }
};


char *
ngx_guildlog_token_keys_add(ngx_conf_t *cf, ngx_guildlog_token_keys_t *keys,
    ngx_str_t *args, ngx_uint_t nargs)
{
    char                     *rv;
    ngx_uint_t                i;
    token_keys_file_t         f;
    const token_keys_alg_t   *alg;
    ngx_guildlog_token_key_t  key, *added;

    static ngx_uint_t          generation;

    for (alg = token_keys_algs; alg->name.len; alg++) {
        if (ngx_guildlog_str_eq(&alg->name, &args[0])) {
            break;
        }
    }

    if (alg->name.len == 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "unknown key algorithm \"%V\"", &args[0]);
        return NGX_CONF_ERROR;
    }

    ngx_memzero(&key, sizeof(ngx_guildlog_token_key_t));

    key.alg = alg->name;
    key.file = args[1];

    if (ngx_conf_full_name(cf->cycle, &key.file, 1) != NGX_OK) {
        return NGX_CONF_ERROR;
    }

    for (i = 2; i < nargs; i++) {
        rv = token_keys_option(cf, keys, &key, &args[i]);

        if (rv != NGX_CONF_OK) {
            return rv;
        }
    }

    ngx_memzero(&f, sizeof(token_keys_file_t));
    f.cf = cf;
    f.alg = alg;
    f.key = &key;

    rv = token_keys_load(&f);

    ERR_clear_error();

    if (rv != NGX_CONF_OK) {
        return rv;
    }

    if (keys->list.elts == NULL
        && ngx_array_init(&keys->list, cf->pool, 2,
                          sizeof(ngx_guildlog_token_key_t))
           != NGX_OK)
    {
        return NGX_CONF_ERROR;
    }

    added = ngx_array_push(&keys->list);
    if (added == NULL) {
        return NGX_CONF_ERROR;
    }

    *added = key;
    keys->generation = ++generation;

    return NGX_CONF_OK;
}


static char *
token_keys_option(ngx_conf_t *cf, ngx_guildlog_token_keys_t *keys,
    ngx_guildlog_token_key_t *key, ngx_str_t *arg)
{
    size_t                     i;
    ngx_uint_t                 n;
    ngx_guildlog_token_key_t  *other;

    other = keys->list.elts;

    if (arg->len == 4 && ngx_strncmp(arg->data, "sign", 4) == 0) {

        for (n = 0; n < keys->list.nelts; n++) {
            if (other[n].sign) {
                ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                                   "\"%V\" signs already, only one key may",
                                   &other[n].file);
                return NGX_CONF_ERROR;
            }
        }

        key->sign = 1;

        return NGX_CONF_OK;
    }

    if (arg->len < 4 || ngx_strncmp(arg->data, "kid=", 4) != 0) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid parameter \"%V\", it takes kid=, sign",
                           arg);
        return NGX_CONF_ERROR;
    }

    key->kid.data = arg->data + 4;
    key->kid.len = arg->len - 4;

    if (key->kid.len == 0 || key->kid.len > NGX_GUILDLOG_TOKEN_KEYS_KID_MAX) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "\"kid\" must be 1 to %d characters long",
                           NGX_GUILDLOG_TOKEN_KEYS_KID_MAX);
        return NGX_CONF_ERROR;
    }

    for (i = 0; i < key->kid.len; i++) {
        if (key->kid.data[i] <= ' ' || key->kid.data[i] >= 0x7f) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                               "\"kid\" must be printable ASCII");
            return NGX_CONF_ERROR;
        }
    }

    for (n = 0; n < keys->list.nelts; n++) {
        if (ngx_guildlog_str_eq(&other[n].kid, &key->kid)) {
            ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "duplicate kid \"%V\"",
                               &key->kid);
            return NGX_CONF_ERROR;
        }
    }

    return NGX_CONF_OK;
}


static char *
token_keys_load(token_keys_file_t *f)
{
    BIO         *bio;
    char        *rv;
    EVP_PKEY    *pkey;
    ngx_uint_t   pem, private;

    rv = token_keys_read(f);

    if (rv != NGX_CONF_OK) {
        return rv;
    }

    if (f->access & S_IWOTH) {
        return token_keys_refuse(f, "is writable by everyone");
    }

    pem = (ngx_strnstr(f->text.data, "-----BEGIN ", f->text.len) != NULL);

    if (f->alg->type == EVP_PKEY_NONE) {
        return pem ? token_keys_refuse(f, "holds PEM, not a secret")
                   : token_keys_secret(f);
    }

    if (!pem) {
        return token_keys_refuse(f, "holds no PEM");
    }

    private = (ngx_strnstr(f->text.data, "PRIVATE KEY-----", f->text.len)
               != NULL);

    if (!private && f->key->sign) {
        return token_keys_refuse(f, "holds no private key to sign with");
    }

    rv = private ? token_keys_closed(f) : NGX_CONF_OK;

    if (rv != NGX_CONF_OK) {
        return rv;
    }

    bio = BIO_new_mem_buf(f->text.data, f->text.len);
    if (bio == NULL) {
        return NGX_CONF_ERROR;
    }

    pkey = private
           ? PEM_read_bio_PrivateKey(bio, NULL, token_keys_no_password, NULL)
           : PEM_read_bio_PUBKEY(bio, NULL, token_keys_no_password, NULL);
    BIO_free(bio);

    if (pkey == NULL) {
        return token_keys_refuse(f, private
                  ? "holds no readable private key, or an encrypted one"
                  : "holds no readable public key");
    }

    rv = token_keys_fits(f, pkey);

    if (private && rv == NGX_CONF_OK) {
        rv = token_keys_derive(f, pkey);
    }

    EVP_PKEY_free(pkey);

    if (!private) {
        f->key->material = f->text;

    } else if (f->key->sign) {
        f->key->signing = f->text;
    }

    return rv;
}


static char *
token_keys_read(token_keys_file_t *f)
{
    size_t           size;
    ssize_t          n;
    ngx_fd_t         fd;
    ngx_err_t        err;
    const char      *call;
    ngx_file_info_t  fi;

    /* no waiting for the other end, should it be a pipe */

    fd = ngx_open_file(f->key->file.data, NGX_FILE_RDONLY|NGX_FILE_NONBLOCK,
                       NGX_FILE_OPEN, 0);

    if (fd == NGX_INVALID_FILE) {
        ngx_conf_log_error(NGX_LOG_EMERG, f->cf, ngx_errno,
                           ngx_open_file_n " \"%V\" failed", &f->key->file);
        return NGX_CONF_ERROR;
    }

    call = ngx_fd_info_n;
    size = 0;
    n = -1;

    if (ngx_fd_info(fd, &fi) != NGX_FILE_ERROR) {

        if (!ngx_is_file(&fi) || ngx_file_size(&fi) == 0
            || ngx_file_size(&fi) > TOKEN_KEYS_FILE_MAX)
        {
            (void) ngx_close_file(fd);

            return token_keys_refuse(f,
                       ngx_is_file(&fi) ? "is empty or too large for a key"
                                        : "is not a regular file");
        }

        f->access = ngx_file_access(&fi);
        size = ngx_file_size(&fi);

        f->text.data = token_keys_alloc(f->cf, size + 1);
        if (f->text.data == NULL) {
            (void) ngx_close_file(fd);
            return NGX_CONF_ERROR;
        }

        call = ngx_read_fd_n;
        n = ngx_read_fd(fd, f->text.data, size);
    }

    err = (n == -1) ? ngx_errno : 0;

    (void) ngx_close_file(fd);

    if (n != (ssize_t) size) {
        ngx_conf_log_error(NGX_LOG_EMERG, f->cf, err, "%s \"%V\" failed",
                           call, &f->key->file);
        return NGX_CONF_ERROR;
    }

    f->text.len = size;

    return NGX_CONF_OK;
}


static char *
token_keys_secret(token_keys_file_t *f)
{
    char       *rv;
    ngx_str_t  *text;

    text = &f->text;

    rv = token_keys_closed(f);

    if (rv != NGX_CONF_OK) {
        return rv;
    }

    /* the newline that editors and echo put behind it */

    if (text->data[text->len - 1] == LF) {
        text->len--;

        if (text->len && text->data[text->len - 1] == CR) {
            text->len--;
        }

        text->data[text->len] = '\0';
    }

    if (text->len < TOKEN_KEYS_SECRET_MIN) {
        return token_keys_refuse(f,
                   "holds a secret of less than "
                   ngx_value(TOKEN_KEYS_SECRET_MIN) " bytes");
    }

    f->key->material = *text;

    if (f->key->sign) {
        f->key->signing = *text;
    }

    return NGX_CONF_OK;
}


/* the public half, which verifies */

static char *
token_keys_derive(token_keys_file_t *f, EVP_PKEY *pkey)
{
    BIO   *bio;
    char  *pem, *rv;
    long   len;

    bio = BIO_new(BIO_s_mem());
    if (bio == NULL) {
        return NGX_CONF_ERROR;
    }

    rv = NGX_CONF_ERROR;

    if (PEM_write_bio_PUBKEY(bio, pkey) == 1) {
        len = BIO_get_mem_data(bio, &pem);

        f->key->material.len = len;
        f->key->material.data = ngx_pnalloc(f->cf->pool, len + 1);

        if (f->key->material.data) {
            ngx_memcpy(f->key->material.data, pem, len);
            f->key->material.data[len] = '\0';
            rv = NGX_CONF_OK;
        }
    }

    BIO_free(bio);

    return rv;
}


static char *
token_keys_fits(token_keys_file_t *f, EVP_PKEY *pkey)
{
    size_t  len;
    char    group[80];

    if (EVP_PKEY_base_id(pkey) != f->alg->type) {
        return token_keys_refuse(f, "holds a key of another type of algorithm");
    }

    if (f->alg->type == EVP_PKEY_RSA) {

        if (EVP_PKEY_bits(pkey) < TOKEN_KEYS_RSA_MIN) {
            return token_keys_refuse(f,
                       "holds an RSA key of less than "
                       ngx_value(TOKEN_KEYS_RSA_MIN) " bits");
        }

        return NGX_CONF_OK;
    }

    if (f->alg->type == EVP_PKEY_EC
        && (EVP_PKEY_get_group_name(pkey, group, sizeof(group), &len) != 1
            || OBJ_txt2nid(group) != f->alg->curve))
    {
        return token_keys_refuse(f, "holds a key on another curve");
    }

    return NGX_CONF_OK;
}


/* of what can make tokens, nobody else may know */

static char *
token_keys_closed(token_keys_file_t *f)
{
    if (f->access & S_IROTH) {
        return token_keys_refuse(f,
                                 "is readable by everyone, but must be secret");
    }

    return NGX_CONF_OK;
}


/* instead of asking at the terminal */

static int
token_keys_no_password(char *buf, int size, int rwflag, void *data)
{
    return -1;
}


static u_char *
token_keys_alloc(ngx_conf_t *cf, size_t size)
{
    ngx_str_t           *memory;
    ngx_pool_cleanup_t  *cln;

    cln = ngx_pool_cleanup_add(cf->pool, sizeof(ngx_str_t));
    if (cln == NULL) {
        return NULL;
    }

    memory = cln->data;

    memory->len = size;
    memory->data = ngx_pcalloc(cf->pool, size);

    if (memory->data == NULL) {
        return NULL;
    }

    cln->handler = token_keys_wipe;

    return memory->data;
}


static void
token_keys_wipe(void *data)
{
    ngx_str_t *memory = data;

    ngx_explicit_memzero(memory->data, memory->len);
}


static char *
token_keys_refuse(token_keys_file_t *f, const char *why)
{
    ngx_conf_log_error(NGX_LOG_EMERG, f->cf, 0, "key file \"%V\" %s",
                       &f->key->file, why);

    return NGX_CONF_ERROR;
}
