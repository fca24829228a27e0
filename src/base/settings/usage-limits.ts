import { wholeNumber } from '#base/setting-values.ts'
import { type Setting, setting } from '#base/settings/setting.ts'

const shareOf = (doc: string, fallback: string) =>
  setting({ doc, example: 'COUNT', fallback, read: wholeNumber(1, 1_000_000), gateway: true, reload: true })

/** What one credential and one user may have online. */
export const usageLimitSettings = {
  credential_sessions: shareOf('Agent sessions that one credential may have at once.', '5000'),
  credential_tunnels: shareOf('Tunnels that one credential may have at once.', '5000'),
  credential_tcp_ports: shareOf('TCP ports that the tunnels of one credential may have at once.', '500'),
  credential_metadata_kib: shareOf('KiB of metadata and labels that one credential may have online.', '8192'),
  owner_sessions: shareOf('Agent sessions that all credentials of one user may have at once.', '20000'),
  owner_tunnels: shareOf('Tunnels that all credentials of one user may have at once.', '20000'),
  owner_tcp_ports: shareOf(
    'TCP ports that the tunnels of one user may have at once; for members also at most half of the assignable ones.',
    '1000',
  ),
  owner_metadata_kib: shareOf('KiB of metadata and labels that one user may have online.', '32768'),
} satisfies Record<string, Setting<unknown>>
