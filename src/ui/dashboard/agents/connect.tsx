import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { ErrorBox, PageHead, Shown, Snippet } from '#ui/dashboard/shell/parts.tsx'

const LIVE_MS = 2000

/** The page that connects a new agent. */
export const ConnectPage = (): JSX.Element => (
  <>
    <PageHead title="Connect an agent" sub="An agent makes a service on its machine reachable." />
    <section class="card" aria-label="New agent">
      <ConnectAgent />
    </section>
  </>
)

interface NewCredential {
  readonly id: string
  readonly token: string
}

/** Creates a credential, shows the commands for it, and waits for the agent. */
export function ConnectAgent(): JSX.Element {
  const [name, setName] = useState('')
  const [allowed, setAllowed] = useState('')
  const [made, setMade] = useState<NewCredential>()
  const [error, setError] = useState<Error>()
  const create = async (): Promise<void> => {
    setError(undefined)
    try {
      const acl = allowed.split(/[\s,]+/).filter(each => each !== '')
      const { id, token } = await api.credentials.create({
        description: name,
        ...(acl.length > 0 && { acl: acl.map(each => `bind:${each}`) }),
      })
      setMade({ id, token: token ?? '' })
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    }
  }
  if (made) return <Commands made={made} />
  return (
    <form
      class="connect"
      onSubmit={event => {
        event.preventDefault()
        void create()
      }}
    >
      <label>
        Name of the machine
        <input
          value={name}
          placeholder="laptop of Alice"
          onInput={event => setName(event.currentTarget.value)}
        />
      </label>
      <label>
        May open, empty for everything
        <input
          value={allowed}
          placeholder="*.alice.example.com"
          onInput={event => setAllowed(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary">
        Create its token
      </button>
      {error && <ErrorBox error={error} />}
    </form>
  )
}

/** Where agents connect to. Names below localhost are known to browsers, but not to every agent. */
async function agentAddress(): Promise<string | undefined> {
  const { listeners, domain } = await api.status()
  const address = listeners.find(({ name }) => name === 'agent')?.public_address
  return domain.endsWith('localhost') ? address?.replace(domain, location.hostname) : address
}

function Commands({ made }: { made: NewCredential }): JSX.Element {
  const loaded = useLoaded('agent address', agentAddress)
  return (
    <>
      <p>Run this on the machine of the service, here with port 3000. The token is shown only once.</p>
      <Shown of={loaded}>
        {server => (
          <Snippet
            label="Commands"
            text={[
              `adit config add-authtoken ${made.token}`,
              `adit http 3000 --server ${server ?? 'SERVER:PORT'}`,
            ].join('\n')}
          />
        )}
      </Shown>
      <p class="hint">
        How to get the program is in the <a href="/docs">documentation</a>.
      </p>
      <Waiting credential={made.id} />
    </>
  )
}

/** Reports the session of the credential as soon as there is one. */
function Waiting({ credential }: { credential: string }): JSX.Element {
  const loaded = useLoaded(
    credential,
    () => api.tunnel_sessions.list({ filter: `obj.credential.id == ${JSON.stringify(credential)}` }),
    { everyMs: LIVE_MS },
  )
  return (
    <Shown of={loaded}>
      {({ items: [found] }) =>
        found === undefined ? (
          <p class="dot" role="status">
            Waiting for your agent …
          </p>
        ) : (
          <p class="dot on" role="status">
            Connected from {found.ip}, {found.os}, version {found.agent_version}:{' '}
            <a href={href(['tunnel_sessions', found.id])}>show the agent</a>
          </p>
        )
      }
    </Shown>
  )
}
