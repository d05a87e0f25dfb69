-- Tokens: made by the operator, at most 5 live ones a server, listed by bot,
-- revoked at once.

\ir ../setup.psql
select plan(28);

select pg_temp.answers(status, body, 401, '{}', 'a dead token lists nothing')
  from token_list(:nobody);
select pg_temp.answers(status, body, 401, '{}', 'and revokes nothing')
  from token_revoke(:nobody, 'x');

select is((select string_agg(k, ' ') from json_object_keys(
               body::json -> 0) k),
          'id unique_id permissions creator created_at expires_at '
          'name',
          'the fields in the documented order')
  from token_list(:me);
select is(array_agg(r ->> 'permissions' order by r ->> 'permissions'),
          '{1,2}', 'both tokens of the main bot')
  from token_list(:me), json_array_elements(body::json) r;
select is(((r ->> 'expires_at')::bigint - (r ->> 'created_at')::bigint),
          90 * 86400000::bigint, 'a token is valid for 90 days')
  from token_list(:me), json_array_elements(body::json) r limit 1;
select pg_temp.answers(status, body, 404, '{}', 'the Pro bot has none')
  from token_list(:pro);

-- create

select status, body from operator_token_create(:guild,
    '{"permissions": 2, "creator": "77", "bot": "pro"}') \gset made_
select is(:made_status, 201, 'a token is created');
select is(:'made_body'::jsonb - array['unique_id', 'iat', 'exp'],
          '{"guild": "900000000000000001", "bot": "pro", "permissions": 2}',
          'it is the token of the Pro bot');
select is((:'made_body'::jsonb ->> 'exp')::bigint
          - (:'made_body'::jsonb ->> 'iat')::bigint, 90 * 86400::bigint,
          'iat and exp in seconds, 90 days apart');
select is(body::json -> 0 ->> 'creator', '77', 'listed under its bot')
  from token_list(:pro);
select is((body::json -> 0 ->> 'expires_at')::bigint,
          (:'made_body'::jsonb ->> 'exp')::bigint * 1000,
          'expires_at is the exp of the token')
  from token_list(:pro);
select is(pg_temp.logged(:guild, 72, 1), 1, 'and logged there');

-- one that only reads

select pg_temp.new_token(:guild, 3, 'main') as reads \gset
select is(r ->> 'permissions', '3', 'a token that only reads is listed as 3')
  from token_list(:me), json_array_elements(body::json) r
 where r ->> 'unique_id' = :'reads';
select is(pg_temp.last_logged(:guild, 72, '{name}'), :'reads',
          'and told as any other');
select throws_ok(format($$ select pg_temp.new_token(%s, %s, 'main') $$,
                        :guild, k), '23514', null, 'no kind: ' || k)
  from unnest(array[0, 4]) k;
select pg_temp.answers(status, body, 200, '{}', 'it can be revoked')
  from token_revoke(:me, :'reads');

select throws_ok($$ select operator_token_create(900000000000000009,
                        '{"permissions": 1, "creator": "1"}') $$,
                 'GL404', 'server: unknown', 'an unknown server gets no token');

select pg_temp.new_token(:guild, 3, 'main') as fourth,
       pg_temp.new_token(:guild, 1, 'pro') as fifth \gset
select throws_ok(format($$ select pg_temp.new_token(%s, 1, 'main') $$, :guild),
                 'GL409', 'a server has at most 5 live tokens',
                 'the sixth token is refused, for either bot');

-- revoke

select pg_temp.answers(status, body, 404, '{}', 'an unknown token')
  from token_revoke(:me, 'no such token');
select pg_temp.answers(status, body, 404, '{}', 'nor has the other bot it')
  from token_revoke(:pro, :'fourth');
select pg_temp.answers(status, body, 200, '{}', 'a token is revoked')
  from token_revoke(:me, :'fourth');
select pg_temp.answers(status, body, 404, '{}', 'only once')
  from token_revoke(:me, :'fourth');
select is(status, 401, 'it stopped')
  from server_get(:'fourth', :guild, 0::smallint, 1::smallint);
select is(pg_temp.last_logged(:guild, 71, '{name}'), :'fourth',
          'the entry names the token');
select isnt(pg_temp.new_token(:guild, 1, 'main'), null,
            'there is room for another token');

-- expiry

update token t set expires_at = now() - interval '1 second'
 where t.guild_id = :guild and t.token_id = :'fifth';
select is(status, 401, 'an expired token stops')
  from server_get(:'fifth', :guild, 0::smallint, 1::smallint);
select isnt(pg_temp.new_token(:guild, 1, 'main'), null,
            'an expired token does not count any more');

select * from finish();
rollback;
