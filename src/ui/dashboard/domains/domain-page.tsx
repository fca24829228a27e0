import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import { ResourceFields, ResourceHead } from '#ui/dashboard/kinds/detail-page.tsx'
import type { ResourceLocator } from '#ui/dashboard/kinds/resource-locator.ts'
import { kindOf } from '#ui/dashboard/kinds/resource.ts'
import { useLoaded, type Loaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { ErrorBox, Message, Shown, Snippet, Time } from '#ui/dashboard/shell/parts.tsx'

type Domain = Awaited<ReturnType<typeof api.reserved_domains.get>>
type Check = Awaited<ReturnType<typeof api.reserved_domains.check>>

/** A domain on its way from DNS to a certificate. */
export function DomainPage({ id }: { id: string }): JSX.Element {
  const at: ResourceLocator = { collection: 'reserved_domains', id, parent: undefined }
  const loaded = useLoaded(`domain ${id}`, () => api.reserved_domains.get(id), {
    on: change => change.id === id,
  })
  const check = useLoaded(`check ${id}`, () => api.reserved_domains.check(id), {
    on: change => change.id === id,
  })
  return (
    <Shown of={loaded} title="Domain">
      {domain => (
        <>
          <ResourceHead at={at} resource={domain} reload={loaded.reload} />
          <Setup domain={domain} check={check} />
          <ResourceFields kind={kindOf('reserved_domains')} resource={domain} />
        </>
      )}
    </Shown>
  )
}

function Setup({ domain, check }: { domain: Domain; check: Loaded<Check> }): JSX.Element {
  const { value, error, isLoading, reload } = check
  return (
    <section class="card" aria-label="Setup">
      <div class="page-head">
        <h2>Setup</h2>
        <div class="actions">
          <span class="dim" role="status">
            {isLoading
              ? 'Checking …'
              : value && (
                  <>
                    Checked <Time at={value.checked_at} />
                  </>
                )}
          </span>
          <button type="button" disabled={isLoading} onClick={reload}>
            Check now
          </button>
        </div>
      </div>
      {error && <ErrorBox error={error} retry={reload} />}
      {value && <Records check={value} />}
      {value && <Steps check={value} />}
      <Renewal domain={domain} expires={value?.expires_at ?? null} />
      <SendTraffic id={domain.id} domain={domain.domain} />
    </section>
  )
}

type Records = Check['required']

const recordText = (records: Records): string =>
  records.map(({ name, type, value }) => `${name}  ${type}  ${value}`).join('\n')

function Records({ check: { required, answers, points_here: pointsHere } }: { check: Check }): JSX.Element {
  const state =
    pointsHere === null
      ? { mark: '', text: 'Name servers do not respond.' }
      : pointsHere
        ? { mark: 'on', text: 'The domain points here.' }
        : { mark: 'off', text: 'The domain does not point here yet.' }
  return (
    <>
      <h3>DNS</h3>
      {required.length > 0 && (
        <>
          <p>Set this record at your DNS provider:</p>
          <Snippet label="Required DNS records" text={recordText(required)} />
        </>
      )}
      <p class={`dot ${state.mark}`}>{state.text}</p>
      <p class="hint">DNS resolvers now:</p>
      <Answers of={answers} />
    </>
  )
}

/** What each resolver answers: they differ while a change spreads. */
const Answers = ({ of: answers }: { of: Check['answers'] }): JSX.Element => (
  <ul class="values" aria-label="Answers of DNS resolvers">
    {answers.map(({ address, records, error }) => (
      <li key={address}>
        <span class={`dot ${error !== null ? 'off' : records.length > 0 ? 'on' : ''}`}>
          {error === null ? `${address} answers` : `${address} does not answer: ${error}`}
        </span>
        {error === null &&
          (records.length === 0 ? (
            <span class="dim"> no record</span>
          ) : (
            <pre tabIndex={0} aria-label={`Records of ${address}`}>
              {recordText(records)}
            </pre>
          ))}
      </li>
    ))}
  </ul>
)

const titles = { dns: 'DNS record', order: 'Certificate order', certificate: 'Certificate' } as const
const marks = {
  done: '✓ done',
  waiting: '◔ waiting',
  failed: '✕ failed',
  not_needed: '– not needed',
} as const
const classes = {
  done: 'passed',
  waiting: 'not_reached',
  failed: 'failed',
  not_needed: 'not_reached',
} as const

const Steps = ({ check: { steps, next } }: { check: Check }): JSX.Element => (
  <>
    <h3>Certificate</h3>
    <ol class="path-steps" aria-label="Progress">
      {steps.map(({ name, state, message }) => (
        <li key={name} class={classes[state]}>
          <strong>{titles[name]}</strong>
          <span class="mark">{marks[state]}</span>
          <span class="detail whole" dir="auto">
            <Message text={message} />
          </span>
        </li>
      ))}
    </ol>
    {steps.some(({ state, message }) => state === 'waiting' || (state === 'failed' && message !== next)) && (
      <p dir="auto">
        <Message text={next} />
      </p>
    )}
  </>
)

function Renewal({ domain, expires }: { domain: Domain; expires: string | null }): JSX.Element {
  const { renews_at: renews, provisioning_job: job } = domain.certificate_management_status ?? {}
  return (
    <dl>
      {expires !== null && (
        <div>
          <dt>Valid until</dt>
          <dd>
            <Time at={expires} />
          </dd>
        </div>
      )}
      {renews && (
        <div>
          <dt>Renewal</dt>
          <dd>
            <Time at={renews} />, without further action
          </dd>
        </div>
      )}
      {job?.retries_at && (
        <div>
          <dt>Next attempt</dt>
          <dd>
            <Time at={job.retries_at} />
          </dd>
        </div>
      )}
    </dl>
  )
}

/** The endpoints that are online at a domain. */
function Serving({ id }: { id: string }): JSX.Element | null {
  const filter = `obj.domain.id == ${JSON.stringify(id)}`
  const { value } = useLoaded(`endpoints of ${id}`, () => api.endpoints.list({ filter }), {
    on: ({ kind }) => kind === 'endpoint',
  })
  if (value === undefined || value.items.length === 0) return null
  return (
    <p class="dot on">
      Online now:{' '}
      {value.items.map(({ id: endpoint, public_url: url }) => (
        <a key={endpoint} href={href(['endpoints', endpoint])} dir="auto">
          {url}
        </a>
      ))}
    </p>
  )
}

const SendTraffic = ({ id, domain }: { id: string; domain: string }): JSX.Element => (
  <>
    <h3>Traffic</h3>
    <Serving id={id} />
    <p>Send it to an agent:</p>
    <Snippet label="Agent command" text={`adit http 3000 --domain ${domain}`} />
    <p>
      or <a href={href(['https_edges', 'new'])}>create an edge</a>
      {` and add the host port ${domain}:443.`}
    </p>
  </>
)
