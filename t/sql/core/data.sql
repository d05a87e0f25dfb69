-- Fixed data: the log types are those of conf/viewer/log-types.tsv, the languages and
-- filters those of the documents. Runs at the top of the repository.

\ir ../setup.psql
select plan(6);

create temp table listed (id int, key text, category text, route text,
                          always_log_bots int, meaning text, title text,
                          kind text, source text, fields text, sentence text);
\copy listed from 'conf/viewer/log-types.tsv' (format csv, delimiter e'\t', header)

select is(count(*)::int, 102, 'there are 102 log types') from log_type;
select set_eq('select id, key, category, route, always_log_bots::int, title
                 from log_type',
              'select id, key, category, route, always_log_bots, title
                 from listed', 'those of the list');
select is(count(distinct category)::int, 9, 'in nine categories')
  from log_type;
select is(count(*)::int, 0, 'each routed to a channel there is')
  from log_type
 where route not in (select attname from pg_attribute
                      where attrelid = 'logging_channels'::regclass);
select is(string_agg(key, ' ' order by locale),
          'en-US en-GB tr vi en-PR pl nl es-ES it de fr ru el zh_Hant ko sl '
          'ar hu ja', 'the languages, numbered from 0')
  from language;
select is(max(locale)::int, 18, 'to 18') from language;

select * from finish();
rollback;
