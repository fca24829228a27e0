import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { kinds } from '#contract/kinds/index.ts'
import { keyUses, LastUse, type UseOfKeys } from '#ui/dashboard/access/key-use.tsx'
import { api } from '#ui/dashboard/api.ts'
import { Confirmed } from '#ui/dashboard/kinds/confirm.tsx'
import { nameOf } from '#ui/dashboard/kinds/resource.ts'
import { IdLink } from '#ui/dashboard/kinds/value.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { user as me } from '#ui/dashboard/session.ts'
import { Dialog, PageHead, Shown, Snippet, Time, toast } from '#ui/dashboard/shell/parts.tsx'

type Person = Awaited<ReturnType<typeof api.users.list>>['items'][number]
type Program = Awaited<ReturnType<typeof api.bot_users.list>>['items'][number]
type BrowserRow = Awaited<ReturnType<typeof api.dashboard_sessions.list>>['items'][number]
type ApiKey = Awaited<ReturnType<typeof api.api_keys.list>>['items'][number]

async function loadPeople() {
  const [users, bots, services, sessions, keys] = await Promise.all([
    api.users.list(),
    api.bot_users.list(),
    api.service_users.list(),
    Array.fromAsync(api.dashboard_sessions.all()),
    Array.fromAsync(api.api_keys.all()),
  ])
  const ofOwner = <Item extends { readonly owner_id: string }>(items: readonly Item[]) => {
    const groups = Map.groupBy(items, ({ owner_id: owner }) => owner)
    return (owner: string): readonly Item[] => groups.get(owner) ?? []
  }
  return {
    people: users.items,
    programs: [...bots.items, ...services.items],
    hasMore: users.next !== undefined,
    sessionsOf: ofOwner(sessions),
    keysOf: ofOwner(keys),
    keyIds: keys.map(({ id }) => id),
  }
}

const USAGE_MS = 30_000
const SHOWN = new Set(['user', 'bot_user', 'service_user', 'dashboard_session', 'api_key'])

/** Users with their roles, invitations and signed-in browsers, programs, and the API keys of both. */
export function PeoplePage(): JSX.Element {
  const loaded = useLoaded('people', loadPeople, {
    on: ({ kind }) => SHOWN.has(kind),
  })
  const { keyIds = [] } = loaded.value ?? {}
  const { value: uses } = useLoaded(`use of ${keyIds.join()}`, () => keyUses(keyIds), { everyMs: USAGE_MS })
  const [invitation, setInvitation] = useState<{ email: string; url: string }>()
  return (
    <>
      <PageHead title="People">
        <a class="button primary" href={href(['users', 'new'])}>
          New user
        </a>
      </PageHead>
      <Shown of={loaded}>
        {({ people, programs, hasMore, sessionsOf, keysOf }) => (
          <>
            <ul class="routes">
              {people.map(person => (
                <PersonCard
                  key={person.id}
                  person={person}
                  sessions={sessionsOf(person.id)}
                  keys={keysOf(person.id)}
                  uses={uses}
                  invited={url => setInvitation({ email: person.email, url })}
                />
              ))}
              {hasMore && (
                <li class="hint">
                  The newest {people.length} users; all are in <a href={href(['users'])}>Users</a>.
                </li>
              )}
            </ul>
            {programs.length > 0 && (
              <section aria-label="Programs">
                <h2>Programs</h2>
                <ul class="routes">
                  {programs.map(program => (
                    <ProgramCard key={program.id} program={program} keys={keysOf(program.id)} uses={uses} />
                  ))}
                </ul>
              </section>
            )}
          </>
        )}
      </Shown>
      {invitation && (
        <Dialog label="Invitation" close={() => setInvitation(undefined)}>
          <p>Send this link to {invitation.email}. It sets a password, once and within 3 days.</p>
          <Snippet label="Link" text={invitation.url} />
          <form method="dialog">
            <button>Close</button>
          </form>
        </Dialog>
      )}
    </>
  )
}

const attempt = async (work: () => Promise<unknown>): Promise<void> => {
  try {
    await work()
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error))
  }
}

function PersonCard(props: {
  person: Person
  sessions: readonly BrowserRow[]
  keys: readonly ApiKey[]
  uses: UseOfKeys | undefined
  invited: (url: string) => void
}): JSX.Element {
  const { person, sessions, keys, uses } = props
  const { id, email, name, role, active } = person
  return (
    <li class="card" aria-label={email}>
      <div class="page-head">
        <h2 dir="auto">
          <a href={href(['users', id])}>{name || email}</a>{' '}
          {name !== '' && name !== email && <span class="dim">{email}</span>}{' '}
          {!active && <span class="dot off">inactive</span>}
        </h2>
        <div class="actions">
          <label class="toggle">
            Role
            <select
              value={role}
              disabled={id === me.value?.id}
              onChange={event =>
                void attempt(() =>
                  api.users.update(id, { role: event.currentTarget.value as Person['role'] }),
                )
              }
            >
              <option value="member">member</option>
              <option value="admin">admin</option>
            </select>
          </label>
          <button
            type="button"
            onClick={() =>
              void attempt(async () => props.invited((await api.dashboard.invite({ user_id: id })).url))
            }
          >
            Invite
          </button>
        </div>
      </div>
      {sessions.length === 0 ? (
        <p class="hint">Not signed in.</p>
      ) : (
        <ul class="values">
          {sessions.map(session => (
            <SessionRow key={session.id} session={session} />
          ))}
        </ul>
      )}
      <Keys keys={keys} uses={uses} />
    </li>
  )
}

function Keys({ keys, uses }: { keys: readonly ApiKey[]; uses: UseOfKeys | undefined }): JSX.Element | null {
  if (keys.length === 0) return null
  return (
    <ul class="values" aria-label="API keys">
      {keys.map(key => (
        <li key={key.id}>
          API key{' '}
          <a href={href(['api_keys', key.id])} dir="auto">
            {key.description || key.id}
          </a>{' '}
          <span class="dim">{uses && <LastUse use={uses.get(key.id)} />}</span>
        </li>
      ))}
    </ul>
  )
}

/** A bot user or service user: it does not sign in, so that its keys show what it does. */
function ProgramCard(props: {
  program: Program
  keys: readonly ApiKey[]
  uses: UseOfKeys | undefined
}): JSX.Element {
  const { id, name, active } = props.program
  return (
    <li class="card" aria-label={name || id}>
      <h3 dir="auto">
        <IdLink id={id} name={name || id} /> {!active && <span class="dot off">inactive</span>}
      </h3>
      {props.keys.length === 0 && <p class="hint">No API key.</p>}
      <Keys keys={props.keys} uses={props.uses} />
    </li>
  )
}

const SessionRow = ({ session }: { session: BrowserRow }): JSX.Element => (
  <li class="item">
    <span dir="auto" title={session.user_agent}>
      {nameOf(kinds.dashboard_sessions, session)}, last active <Time at={session.last_active} />
    </span>
    <Confirmed
      label="Sign out"
      question="End this session?"
      act={async () => api.dashboard_sessions.delete(session.id)}
    />
  </li>
)
