import type { JSX } from 'preact'
import { wordsOf } from '#contract/names.ts'
import { counted } from '#ui/format.ts'
import { api } from '#ui/dashboard/api.ts'
import { Confirmed } from '#ui/dashboard/kinds/confirm.tsx'
import { IdLink } from '#ui/dashboard/kinds/value.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { PageHead, Shown, Time, toast } from '#ui/dashboard/shell/parts.tsx'
import { TableHead } from '#ui/dashboard/shell/table-head.tsx'
import { milliseconds } from '#ui/dashboard/traffic/request-text.ts'

const LIVE_MS = 5000

const isOfEvents = ({ kind }: { kind: string }): boolean => kind.startsWith('event_')

/** What people call the subscriptions and destinations, by id: deliveries have only the ids. */
async function loadNames(): Promise<ReadonlyMap<string, string>> {
  const [subscriptions, destinations] = await Promise.all([
    Array.fromAsync(api.event_subscriptions.all()),
    Array.fromAsync(api.event_destinations.all()),
  ])
  return new Map([
    ...subscriptions.map(({ id, description, sources }) => [id, description || typesOf(sources)] as const),
    ...destinations.map(({ id, description, target }) => {
      const type = targetOf(target)
      return [id, description === '' ? type : `${description} (${type})`] as const
    }),
  ])
}

const typesOf = (sources: readonly { readonly type: string }[]): string =>
  sources.map(({ type }) => type).join(', ')

/** Exactly one key of a target is set. */
const targetOf = (target: object): string =>
  wordsOf(Object.entries(target).find(([, value]) => value !== null)?.[0] ?? '')

type Names = ReadonlyMap<string, string> | undefined
type Delivery = Awaited<ReturnType<typeof api.event_deliveries.list>>['items'][number]

/** How events reach their destinations. */
export function DeliveriesPage(): JSX.Element {
  const loaded = useLoaded('deliveries', () => api.event_deliveries.list(), {
    on: isOfEvents,
    everyMs: LIVE_MS,
  })
  const { value: names } = useLoaded('names for deliveries', loadNames, { on: isOfEvents })
  return (
    <>
      <PageHead title="Event deliveries" sub="Each subscription at each of its destinations.">
        <a class="button" href={href(['event_destinations', 'new'])}>
          New destination
        </a>
        <a class="button primary" href={href(['event_subscriptions', 'new'])}>
          New subscription
        </a>
      </PageHead>
      <Shown of={loaded}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="empty">
              There are no deliveries yet. Create a destination, and then a subscription for it.
            </p>
          ) : (
            <div class="table-box" tabIndex={0} role="region" aria-label="Deliveries">
              <table>
                <TableHead
                  columns={[
                    'Subscription',
                    'Destination',
                    'State',
                    'Waiting',
                    'Dead letters',
                    'Last error',
                    'Attempts',
                    'Actions',
                  ]}
                  numeric={['Waiting', 'Dead letters']}
                />
                <tbody>
                  {items.map(delivery => (
                    <DeliveryRow key={delivery.id} delivery={delivery} names={names} reload={loaded.reload} />
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Shown>
    </>
  )
}

function DeliveryState({ delivery }: { delivery: Delivery }): JSX.Element {
  const { failing_since: since, last_success_at: success } = delivery
  if (since !== null)
    return (
      <span class="dot off">
        failing since <Time at={since} />
      </span>
    )
  return success === null ? (
    <span class="dim">nothing sent yet</span>
  ) : (
    <span class="dot on">
      works, last <Time at={success} />
    </span>
  )
}

function Attempts({ of: { attempts } }: { of: Delivery }): JSX.Element {
  if (attempts.length === 0) return <span class="dim">–</span>
  return (
    <details>
      <summary>Last {attempts.length}</summary>
      <ol class="values" aria-label="Attempts, newest first">
        {attempts.map(({ at, events, error, duration_ms: ms }, place) => (
          <li key={place}>
            <Time at={at} hasSeconds />: {counted(events, 'event')}, {milliseconds(ms)},{' '}
            <span dir="auto">{error ?? 'accepted'}</span>
          </li>
        ))}
      </ol>
    </details>
  )
}

/** The name and id of what a delivery belongs to. */
function Party({ of: ref, names }: { of: Delivery['destination']; names: Names }): JSX.Element {
  if (!ref) return <>–</>
  const name = names?.get(ref.id)
  if (!name) return <IdLink id={ref.id} />
  return (
    <>
      <IdLink id={ref.id} name={name} />
      <span class="dim id">{ref.id}</span>
    </>
  )
}

function DeliveryRow(props: { delivery: Delivery; names: Names; reload: () => void }): JSX.Element {
  const { delivery, names, reload } = props
  const { id, subscription, destination, waiting, dead_letters: dead, last_error: error } = delivery
  return (
    <tr>
      <th scope="row">
        <Party of={subscription} names={names} />
      </th>
      <td data-title="Destination">
        <Party of={destination} names={names} />
      </td>
      <td data-title="State">
        <DeliveryState delivery={delivery} />
      </td>
      <td class="number" data-title="Waiting">
        {waiting.toLocaleString()}
      </td>
      <td class="number" data-title="Dead letters">
        {dead.toLocaleString()}
      </td>
      <td dir="auto" data-title="Last error">
        {error ?? '–'}
      </td>
      <td data-title="Attempts">
        <Attempts of={delivery} />
      </td>
      <td>
        <div class="actions">
          {destination && (
            <Confirmed
              label="Test"
              question="Send an event of type test.v0 to this destination?"
              act={async () => {
                await api.event_destinations.test(destination.id)
                toast('The destination accepted the test event.')
                reload()
              }}
            />
          )}
          <Confirmed
            label="Redeliver"
            question={`Send ${counted(dead, 'dead letter')} and ${counted(waiting, 'waiting event')} again?`}
            act={async () => {
              await api.event_deliveries.replay(id)
              toast('They are being sent.')
              reload()
            }}
          />
        </div>
      </td>
    </tr>
  )
}
