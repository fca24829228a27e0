import type { JSX } from 'preact'
import type { CertificateDraft } from '#ui/dashboard/access/protect.ts'
import { api } from '#ui/dashboard/api.ts'
import { kindOf, nameOf } from '#ui/dashboard/kinds/resource.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { Shown } from '#ui/dashboard/shell/parts.tsx'

/** The certificate authority of the clients: a known one, or the certificate of a new one. */
export function CertificateFields(props: {
  draft: CertificateDraft
  change: (part: Partial<CertificateDraft>) => void
}): JSX.Element {
  const { draft, change } = props
  const loaded = useLoaded('authorities', () => api.certificate_authorities.list(), {
    on: ({ kind }) => kind === 'certificate_authority',
  })
  return (
    <>
      <Shown of={loaded}>
        {({ items }) =>
          items.length > 0 && (
            <label>
              Certificate authority of the clients
              <select
                value={draft.authority}
                onChange={event => change({ authority: event.currentTarget.value })}
              >
                <option value="">A new one</option>
                {items.map(authority => (
                  <option key={authority.id} value={authority.id}>
                    {nameOf(kindOf('certificate_authorities'), authority)}
                  </option>
                ))}
              </select>
            </label>
          )
        }
      </Shown>
      {draft.authority === '' && (
        <label>
          Certificate of the authority, in PEM
          <textarea
            rows={4}
            spellcheck={false}
            placeholder="-----BEGIN CERTIFICATE-----"
            value={draft.pem}
            onInput={event => change({ pem: event.currentTarget.value })}
          />
        </label>
      )}
    </>
  )
}
