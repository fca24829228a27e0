import type { JSX } from 'preact'
import { agentSnippets, type SnippetValues, type AgentSnippet } from '#ui/dashboard/agents/snippets.ts'
import { useAgentLink } from '#ui/dashboard/agents/agent-link.ts'
import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { Shown, Snippet } from '#ui/dashboard/shell/parts.tsx'
import { Tabs } from '#ui/dashboard/shell/tabs.tsx'
import { milliseconds } from '#ui/dashboard/traffic/request-text.ts'

/** Where agents connect to. Names below localhost are known to browsers, but not to every agent. */
async function loadValues(): Promise<Omit<SnippetValues, 'token'>> {
  const { listeners, domain, version } = await api.status()
  const addressOf = (wanted: string): string | undefined => {
    const address = listeners.find(({ name }) => name === wanted)?.public_address
    return domain.endsWith('localhost') ? address?.replace(domain, location.hostname) : address
  }
  return { server: addressOf('agent') ?? 'SERVER:PORT', ssh: addressOf('ssh'), version }
}

/** The commands for a new credential, which wait for its agent. */
export function AgentCommands({ id, token }: { id: string; token: string }): JSX.Element {
  const loaded = useLoaded('agent address', loadValues)
  return (
    <>
      <p>Run this on the machine of the service, here with port 3000. The token is shown only once.</p>
      <Shown of={loaded}>
        {where => (
          <Tabs
            label="Machine of the agent"
            tabs={agentSnippets({ ...where, token }).map(snippet => ({
              name: snippet.name,
              content: () => <SnippetView snippet={snippet} />,
            }))}
          />
        )}
      </Shown>
      <Waiting credential={id} />
    </>
  )
}

const SnippetView = ({ snippet: { install, commands, isSsh } }: { snippet: AgentSnippet }): JSX.Element => (
  <>
    {install !== undefined && <Snippet label="Installation" text={install} />}
    <Snippet label="Commands" text={commands} />
    <p class="hint">
      {isSsh ? (
        <>
          It uses your SSH key instead of the token:{' '}
          <a href={href(['ssh_credentials', 'new'])}>add the key</a>.
        </>
      ) : (
        <>
          The command <code>npm run package</code> in a clone of Adit builds the packages and the image.
        </>
      )}
    </p>
  </>
)

/** Reports the session of the credential as soon as there is one. */
function Waiting({ credential }: { credential: string }): JSX.Element {
  const loaded = useLoaded(
    credential,
    () => api.tunnel_sessions.list({ filter: `obj.credential.id == ${JSON.stringify(credential)}` }),
    { on: ({ kind }) => kind === 'tunnel_session' },
  )
  return (
    <Shown of={loaded}>
      {({ items: [found] }) =>
        found === undefined ? (
          <p class="dot" role="status">
            Waiting for your agent …
          </p>
        ) : (
          <p class="dot on">
            <span role="status">Connected from {found.ip}</span>, <AgentFacts {...found} />:{' '}
            <a href={href(['tunnel_sessions', found.id])}>show the agent</a>
          </p>
        )
      }
    </Shown>
  )
}

/** Outside of the status, which is announced whenever it changes. */
function AgentFacts(session: { id: string; os: string; agent_version: string }): JSX.Element {
  const { value: link } = useAgentLink(session.id)
  const roundTrip = link?.round_trip_ms ?? null
  const facts = [
    roundTrip === null ? '' : milliseconds(roundTrip),
    [session.os, link?.arch].filter(Boolean).join(' '),
    `version ${session.agent_version}`,
  ]
  return <span>{facts.filter(fact => fact !== '').join(', ')}</span>
}
