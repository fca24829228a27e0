import type { JSX } from 'preact'
import { encodeQR } from 'qr'

/** A QR code, drawn as one path: the content policy forbids markup from text. */
export function QrCode({ text, label }: { text: string; label: string }): JSX.Element {
  const rows = encodeQR(text, 'raw', { ecc: 'medium' })
  const path = rows
    .flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    .join('')
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`0 0 ${rows.length} ${rows.length}`}>
      <rect width="100%" height="100%" fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}
