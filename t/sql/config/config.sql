-- GET /config: every part as its own read gives it.

\ir ../setup.psql
select plan(25);

select pg_temp.answers(status, body, 401, '{}', 'a dead token reads nothing')
  from config_get(:nobody);
select is((select string_agg(k, ' ') from json_object_keys(body::json) k),
          'guilds serverlogConfigChannels serverlogConfigOptions '
          'serverlogConfigCustomOptions settingsConfig access alerts '
          'serverlogConfigIgnoreStandard tags', 'the parts')
  from config_get(:me);
select is(count(*)::int, 8, 'null where nothing is stored')
  from config_get(:me), json_each(body::json) p
 where p.value::text = 'null';

select channels_patch(:me, '{"main_channel": "5"}'),
       options_patch(:me, '{"spoilers": true}'),
       type_patch(:me, 5, '{"enabled": false}'),
       ignore_add(:me, 0, '{"value": "5"}'),
       settings_patch(:me, '{"locale": "ja"}'),
       tag_create(:me, '{"tag_name": "a", "content": "b"}'),
       access_put(:me, 7, '{"level": "view"}') \g /dev/null

select is(c.body::json ->> part, single.body, part)
  from config_get(:me) c,
       (select 'guilds' part, body from guilds_get(:me)
        union all
        select 'serverlogConfigChannels', body from channels_get(:me)
        union all
        select 'serverlogConfigOptions', body from options_get(:me)
        union all
        select 'serverlogConfigCustomOptions', body from type_get(:me, 5)
        union all
        select 'serverlogConfigIgnoreStandard', body from ignore_get(:me, 0)
        union all
        select 'settingsConfig', body from settings_get(:me)
        union all
        select 'tags', body from tags_get(:me)
        union all
        select 'access', body from access_list(:me)) single;

select type_patch(:me, 7, '{"color": 1}'), ignore_add(:me, 6, '{"value": "8"}')
\g /dev/null
select is(json_array_length(body::json -> 'serverlogConfigCustomOptions')
          + json_array_length(body::json -> 'serverlogConfigIgnoreStandard'),
          4, 'all customised types and all lists')
  from config_get(:me);

-- in parts; behind the first one something may change

create function pg_temp.parts(token text, guild bigint, bot smallint,
    kind smallint, function text, change text default null)
returns text[] language plpgsql as $$
declare
    rest   text := '';
    body   text;
    parts  text[];
begin
    while rest is not null loop
        execute format('select body, more from %I($1, $2, $3, $4, $5)',
                       function)
           into body, rest using token, guild, bot, kind, rest;
        parts := parts || body;

        if change is not null then
            execute change;
            change := null;
        end if;
    end loop;

    return parts;
end $$;

select is(pg_temp.parts(:me, f), array[body], f || ': what is small is one')
  from (select 'config_get' f, body from config_get(:me)
        union all
        select 'tags_get', body from tags_get(:me)) whole;

insert into tag
select :guild, 0, 'few' || g, 'few ' || g, 'x' from generate_series(1, 100) g;

select is(pg_temp.parts(:me, f), array[body], f || ': so are many short ones')
  from (select 'config_get' f, body from config_get(:me)
        union all
        select 'tags_get', body from tags_get(:me)) whole;

delete from tag t where t.tag_id <> 'few1' and t.guild_id = :guild;
insert into ignore_entry
select :guild, 0, t, g from unnest('{2,3}'::int[]) t, generate_series(1, 900) g;

select cmp_ok(cardinality(p.parts), '>', 3, 'each ignore list is a part')
  from (select pg_temp.parts(:me, 'config_get') as parts) p;
select is(array_to_string(pg_temp.parts(:me, 'config_get'), ''), body,
          '... few tags after them')
  from config_get(:me);

delete from ignore_entry i where i.ignore_type in (2, 3) and i.guild_id = :guild;
insert into tag
select :guild, 0, 'id' || g, 'tag ' || g, repeat(chr(1), 4095), g, null
  from generate_series(1, 100) g;
insert into ignore_entry
select :guild, 0, t, repeat(chr(1), 96) || (1000 + g)
  from unnest('{1,4,5}'::int[]) t, generate_series(1, 1000) g;

select is(array_to_string(p.parts, ''), whole.body, f || ': all of it')
  from (select 'config_get' f, body from config_get(:me)
        union all
        select 'tags_get', body from tags_get(:me)) whole
 cross join lateral (select pg_temp.parts(:me, f) as parts) p;

select cmp_ok(max(octet_length(p)), '<', 1048576,
              'no part is larger than 1 MiB')
  from unnest(pg_temp.parts(:me, 'config_get')) p;

-- what changes meanwhile

select array_agg(t ->> 'tag_name') as names
  from json_array_elements(array_to_string(pg_temp.parts(:me, 'tags_get',
           $$delete from tag where tag_id in ('id98', 'id99');
             insert into tag values (900000000000000001, 0, 'new',
                                     'tag 999', 'x')$$), '')::json) t \gset
select is(:'names', array_agg(t.tag_name order by t.tag_name),
          'later parts have tags that are made or deleted meanwhile')
  from tag t where t.guild_id = :guild;
select is(json_array_length(array_to_string(pg_temp.parts(:me, 'tags_get',
              $$delete from tag where tag_name like 'tag %'$$), '')::json), 32,
          'no tag is left for the next part');
select is(json_array_length(array_to_string(pg_temp.parts(:me, 'config_get',
              'delete from ignore_entry where ignore_type in (4, 5)'),
              '')::json -> 'serverlogConfigIgnoreStandard'), 1002,
          'the same for ignore lists');
select pg_temp.answers(status, body, 401, '{}', 'a dead token gets no rest')
  from config_get(:nobody, '1');

select * from finish();
rollback;
