-- What reading needs besides the tables of the log store.


-- Fixed data, loaded from summaries.sql each time: how an entry is summed up
-- in an export, "<title><subject>Bob<executor>Alice<channel>general", each
-- part where the entry has one. titles[type + 1].

create table summary (
    language  text primary key check (language in ('en', 'de', 'ja')),
    titles    text[] not null check (cardinality(titles) = 102),
    subject   text not null,
    executor  text not null,
    channel   text not null
);


-- Is anything held at this server? The live tail waits for it.

create index on held_entry (guild_id, bot, until);
