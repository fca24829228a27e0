/** Types worth compressing besides `text/`, `+json` and `+xml`; most others are already compressed. */
const worthwhile = new Set(
  `
  application/ecmascript application/graphql application/javascript application/json application/json-seq
  application/jsonl application/ndjson application/rtf application/sql application/toml application/wasm
  application/x-javascript application/x-ndjson application/x-sh application/x-web-app-manifest+json
  application/x-yaml application/xml application/xml-dtd application/yaml application/vnd.ms-fontobject
  application/x-font-opentype application/x-font-otf application/x-font-ttf application/x-font-truetype
  font/collection font/otf font/sfnt font/ttf
  image/bmp image/vnd.microsoft.icon image/x-icon image/x-ms-bmp
  `
    .trim()
    .split(/\s+/),
)

/** Whether a media type is worth compressing; unknown types are not. */
export function isWorthwhile(contentType: string): boolean {
  const end = contentType.indexOf(';')
  const type = (end < 0 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
  return type.startsWith('text/') || worthwhile.has(type) || type.endsWith('+json') || type.endsWith('+xml')
}
