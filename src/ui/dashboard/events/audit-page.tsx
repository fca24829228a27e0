import type { JSX } from 'preact'
import { api, operationOf } from '#ui/dashboard/api.ts'
import {
  authorOf,
  changeTitle,
  isUpdate,
  objectId,
  trafficHref,
  type AuditEvent,
} from '#ui/dashboard/events/audit-text.ts'
import { changedFields, type ChangedField } from '#ui/dashboard/events/changed-fields.ts'
import { CopyAsCall } from '#ui/dashboard/kinds/api-call.tsx'
import { Fields, NamedLink, Value } from '#ui/dashboard/kinds/value.tsx'
import { ChangedResource } from '#ui/dashboard/events/changed-resource.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { PageHead, Shown, Time } from '#ui/dashboard/shell/parts.tsx'
import { TableHead } from '#ui/dashboard/shell/table-head.tsx'

/** Each event has the whole resource, so the one before it has the state before the change. */
async function loadChange(id: string) {
  const event = await api.audit_events.get(id)
  const { items } = await api.audit_events.list({ object_id: objectId(event), before_id: id, limit: 1 })
  return { event, previous: items[0] }
}

/** One recorded change, with the fields that it changed. */
export function AuditPage({ id }: { id: string }): JSX.Element {
  const loaded = useLoaded(`audit event ${id}`, () => loadChange(id))
  const operation = operationOf('audit_events', 'get')
  return (
    <Shown of={loaded} title="Audit event">
      {({ event, previous }) => (
        <>
          <PageHead title={changeTitle(event.type)} sub={`Audit event ${id}`}>
            {operation && <CopyAsCall operation={operation} params={[id]} />}
          </PageHead>
          <Circumstances event={event} previous={previous} />
          <Difference event={event} previous={previous} />
        </>
      )}
    </Shown>
  )
}

interface Change {
  readonly event: AuditEvent
  readonly previous: AuditEvent | undefined
}

function Circumstances({ event, previous }: Change): JSX.Element {
  const { principal, occurred_at: at } = event
  const traffic = trafficHref(event)
  const rows: readonly (readonly [string, JSX.Element | string])[] = [
    [
      'By',
      principal ? (
        <a href={href(['audit_events'], { principal: principal.id })}>{authorOf(event)}</a>
      ) : (
        authorOf(event)
      ),
    ],
    ['Through', principal?.source ?? '–'],
    ...(principal?.credential
      ? [['With', <NamedLink key="with" id={principal.credential.id} />] as const]
      : []),
    ['Address', principal?.ip ?? '–'],
    ['Time', <Time key="time" at={at} hasSeconds />],
    ['Resource', <ChangedResource key="resource" event={event} />],
    ['Resource id', objectId(event)],
  ]
  return (
    <section class="card" aria-label="Circumstances">
      <dl>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd dir="auto">{value}</dd>
          </div>
        ))}
      </dl>
      <p class="actions">
        {previous && <a href={href(['audit_events', previous.id])}>Change before this one</a>}
        <a href={href(['audit_events'], { object_id: objectId(event) })}>All changes of the resource</a>
        {traffic !== undefined && <a href={traffic}>Requests that it affects</a>}
      </p>
    </section>
  )
}

function Difference({ event, previous }: Change): JSX.Element {
  return (
    <>
      {isUpdate(event) &&
        (previous ? (
          <ChangedFields of={changedFields(previous.object, event.object)} />
        ) : (
          <p class="hint">The state before this change is not recorded.</p>
        ))}
      <section class="children" aria-label="Resource at that time">
        <h2>Resource at that time</h2>
        <div class="card">
          <Fields entries={Object.entries(event.object)} />
        </div>
      </section>
    </>
  )
}

const ChangedFields = ({ of: fields }: { of: readonly ChangedField[] }): JSX.Element => (
  <section class="children" aria-label="Changed fields">
    <h2>Changed fields</h2>
    {fields.length === 0 ? (
      <p class="hint">No visible field differs. Secrets are masked and not compared.</p>
    ) : (
      <div class="table-box" tabIndex={0} role="region" aria-label="Table of changed fields">
        <table class="diff">
          <TableHead columns={['Field', 'Before', 'After']} />
          <tbody>
            {fields.map(({ name, before, after }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="removed" data-title="Before">
                  <Value value={before} />
                </td>
                <td class="added" data-title="After">
                  <Value value={after} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    )}
  </section>
)
