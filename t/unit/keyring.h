
/*
 * Key files in a folder of their own, and sets made of them as guildlog_key
 * does.
 */

#ifndef _KEYRING_H_INCLUDED_
#define _KEYRING_H_INCLUDED_


#include <ngx_config.h>
#include <dirent.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include "token/ngx_guildlog_token_keys.h"
#include "tap.h"


#define KEYRING_SECRET  "0123456789abcdef0123456789abcdef"


static char         keyring_dir[] = "/tmp/guildlog-keys.XXXXXX";
static ngx_conf_t   keyring_conf;


static inline void
keyring_start(void)
{
    static u_char  prefix[sizeof(keyring_dir) + 1];

    if (mkdtemp(keyring_dir) == NULL) {
        abort();
    }

    tap_cycle.conf_prefix.data = prefix;
    tap_cycle.conf_prefix.len = ngx_sprintf(prefix, "%s/%Z", keyring_dir)
                                - prefix - 1;

    keyring_conf.cycle = &tap_cycle;
    keyring_conf.log = &tap_log;
    keyring_conf.pool = tap_pool();

    tap_cycle.pool = keyring_conf.pool;
}


static inline FILE *
keyring_open(const char *name, int mode)
{
    int    fd;
    char   path[256];
    FILE  *file;

    snprintf(path, sizeof(path), "%s/%s", keyring_dir, name);
    (void) unlink(path);

    fd = open(path, O_WRONLY|O_CREAT|O_TRUNC, 0600);
    file = (fd != -1 && fchmod(fd, mode) == 0) ? fdopen(fd, "w") : NULL;

    if (file == NULL) {
        abort();
    }

    return file;
}


static inline void
keyring_write(const char *name, const char *data, size_t len, int mode)
{
    FILE  *file;

    file = keyring_open(name, mode);
    (void) fwrite(data, 1, len, file);
    (void) fclose(file);
}


static inline void
keyring_private(const char *name, EVP_PKEY *pkey, int mode)
{
    FILE  *file;

    file = keyring_open(name, mode);
    (void) PEM_write_PrivateKey(file, pkey, NULL, NULL, 0, NULL, NULL);
    (void) fclose(file);
}


static inline void
keyring_public(const char *name, EVP_PKEY *pkey)
{
    FILE  *file;

    file = keyring_open(name, 0644);
    (void) PEM_write_PUBKEY(file, pkey);
    (void) fclose(file);
}


/* the words behind "guildlog_key" */

static inline char *
keyring_add(ngx_guildlog_token_keys_t *keys, const char *words)
{
    u_char      *p, *word;
    ngx_str_t    args[8];
    ngx_uint_t   n;

    tap_log_forget();

    p = ngx_pnalloc(keyring_conf.pool, strlen(words) + 1);
    ngx_memcpy(p, words, strlen(words) + 1);

    for (n = 0, word = (u_char *) strtok((char *) p, " "); word; n++) {
        args[n].data = word;
        args[n].len = ngx_strlen(word);
        word = (u_char *) strtok(NULL, " ");
    }

    return ngx_guildlog_token_keys_add(&keyring_conf, keys, args, n);
}


static inline void
keyring_stop(void)
{
    DIR            *dir;
    char            path[512];
    struct dirent  *entry;

    ngx_destroy_pool(keyring_conf.pool);

    dir = opendir(keyring_dir);

    while ((entry = readdir(dir)) != NULL) {
        snprintf(path, sizeof(path), "%s/%s", keyring_dir, entry->d_name);
        (void) unlink(path);
    }

    (void) closedir(dir);
    (void) rmdir(keyring_dir);
}


#endif /* _KEYRING_H_INCLUDED_ */
