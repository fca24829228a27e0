import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { api } from '#ui/dashboard/api.ts'
import { lazy } from '#ui/dashboard/shell/lazy.tsx'
import { ErrorBox, PageHead } from '#ui/dashboard/shell/parts.tsx'

const AgentCommands = lazy(async () => (await import('#ui/dashboard/agents/commands.tsx')).AgentCommands)

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
  if (made) return <AgentCommands {...made} />
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
        May open: a domain or a wildcard; empty for any
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
