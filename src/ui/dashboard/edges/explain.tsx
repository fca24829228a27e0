import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { titleOf } from '#contract/names.ts'
import { api } from '#ui/dashboard/api.ts'
import { hrefOfId, resourceHref } from '#ui/dashboard/kinds/resource.ts'
import { place } from '#ui/dashboard/router.ts'
import { ErrorBox, PageHead } from '#ui/dashboard/shell/parts.tsx'

type Explanation = Awaited<ReturnType<typeof api.requests.explain>>

/** The page that asks the router of the gateway. */
export const ExplainPage = (): JSX.Element => (
  <>
    <PageHead title="Which route matches?" sub="The router of the gateway decides; nothing is sent." />
    <ExplainForm url={place.value.query.get('url') ?? ''} />
  </>
)

/** `Name: value` lines as an object. */
const headersOf = (given: string): Record<string, string> =>
  Object.fromEntries(
    given.split('\n').flatMap(line => {
      const colon = line.indexOf(':')
      return colon > 0 ? [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()]] : []
    }),
  )

const QUESTION = 'Which route matches this request?'

/** The request to explain, and the explanation. */
export function ExplainForm({ url: start, hasHeading }: { url: string; hasHeading?: true }): JSX.Element {
  const [draft, setDraft] = useState({ method: 'GET', url: start, headers: '', ip: '' })
  const [found, setFound] = useState<Explanation>()
  const [error, setError] = useState<Error>()
  const set = (part: Partial<typeof draft>): void => setDraft({ ...draft, ...part })
  const explain = async (): Promise<void> => {
    setError(undefined)
    setFound(undefined)
    try {
      setFound(
        await api.requests.explain({
          request_url: draft.url.trim(),
          method: draft.method.trim(),
          headers: headersOf(draft.headers),
          ...(draft.ip.trim() !== '' && { ip: draft.ip.trim() }),
        }),
      )
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    }
  }
  return (
    <section class="card" aria-label={QUESTION}>
      {hasHeading && <h2>{QUESTION}</h2>}
      <form
        class="replay"
        onSubmit={event => {
          event.preventDefault()
          void explain()
        }}
      >
        <label>
          Method
          <input value={draft.method} onInput={event => set({ method: event.currentTarget.value })} />
        </label>
        <label>
          URL
          <input
            required
            spellcheck={false}
            placeholder="https://shop.example.com/cart"
            value={draft.url}
            onInput={event => set({ url: event.currentTarget.value })}
          />
        </label>
        <label>
          Headers, one per line
          <textarea
            rows={2}
            spellcheck={false}
            placeholder="User-Agent: curl/8"
            value={draft.headers}
            onInput={event => set({ headers: event.currentTarget.value })}
          />
        </label>
        <label>
          Client address, empty for yours
          <input
            placeholder="192.0.2.1"
            value={draft.ip}
            onInput={event => set({ ip: event.currentTarget.value })}
          />
        </label>
        <div class="actions">
          <button type="submit" class="primary">
            Explain
          </button>
        </div>
      </form>
      {error && <ErrorBox error={error} />}
      {found && <ExplanationView found={found} />}
    </section>
  )
}

const verdicts = {
  passes: 'passes',
  rejects: 'rejects',
  would_run: 'decides when it runs',
  not_reached: 'not reached',
} as const
const classes = {
  passes: 'passed',
  rejects: 'failed',
  would_run: 'passed',
  not_reached: 'not_reached',
} as const

function ownerLink(found: Explanation): JSX.Element | string {
  const { route_id: route, edge_id: edge, match, match_type: type } = found
  if (route !== null && edge !== null)
    return (
      <a href={resourceHref('https_edge_routes', route, edge)} dir="auto">
        {`route ${match ?? ''} (${type === 'exact_path' ? 'exact path' : 'path prefix'})`}
      </a>
    )
  const id = edge ?? found.tunnel_id ?? found.domain_id
  const to = id === null ? undefined : hrefOfId(id)
  return to === undefined ? 'nothing' : <a href={to}>{`${found.handled_by} ${id ?? ''}`}</a>
}

function ExplanationView({ found }: { found: Explanation }): JSX.Element {
  return (
    <section aria-label="Explanation" role="status">
      <h3>Handled by: {ownerLink(found)}</h3>
      <p dir="auto">
        {found.reason} {found.status !== null && `The gateway would respond with ${found.status}.`}{' '}
        {found.error_code !== null && <code>{found.error_code}</code>}
      </p>
      <ol class="path-steps" aria-label="Modules">
        {found.modules.map(({ name, verdict }, at) => (
          <li key={at} class={classes[verdict]}>
            <strong>{titleOf(name)}</strong>
            <span class="mark">{verdicts[verdict]}</span>
          </li>
        ))}
      </ol>
    </section>
  )
}
