import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import { Confirmed } from '#ui/dashboard/kinds/confirm.tsx'
import { IdLink } from '#ui/dashboard/kinds/value.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { PageHead, Shown, Time, toast } from '#ui/dashboard/shell/parts.tsx'
import { TableHead } from '#ui/dashboard/shell/table-head.tsx'
import { milliseconds } from '#ui/dashboard/traffic/request-text.ts'

const LIVE_MS = 5000

type Delivery = Awaited<ReturnType<typeof api.event_deliveries.list>>['items'][number]

/** How events reach their destinations. */
export function DeliveriesPage(): JSX.Element {
  const loaded = useLoaded('deliveries', () => api.event_deliveries.list(), {
    on: ({ kind }) => kind.startsWith('event_'),
    everyMs: LIVE_MS,
  })
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
                />
                <tbody>
                  {items.map(delivery => (
                    <DeliveryRow key={delivery.id} delivery={delivery} reload={loaded.reload} />
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
            <Time at={at} />: {events.toLocaleString()} events, {milliseconds(ms)},{' '}
            <span dir="auto">{error ?? 'accepted'}</span>
          </li>
        ))}
      </ol>
    </details>
  )
}

function DeliveryRow({ delivery, reload }: { delivery: Delivery; reload: () => void }): JSX.Element {
  const { id, subscription, destination, waiting, dead_letters: dead, last_error: error } = delivery
  return (
    <tr>
      <th scope="row">{subscription ? <IdLink id={subscription.id} /> : '–'}</th>
      <td>{destination ? <IdLink id={destination.id} /> : '–'}</td>
      <td>
        <DeliveryState delivery={delivery} />
      </td>
      <td>{waiting.toLocaleString()}</td>
      <td>{dead.toLocaleString()}</td>
      <td dir="auto">{error ?? '–'}</td>
      <td>
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
            question={`Send ${dead} dead letters and ${waiting} waiting events again?`}
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
