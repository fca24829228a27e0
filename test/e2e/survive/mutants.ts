import { FIN, frameTypes, HEADER_BYTES, putHeader, SYN } from '#tunnel/frame.ts'
import { streamTypes } from '#tunnel/stream-types.ts'

/** Numbers that look random and are the same in every run. */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1
  return below => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state % below
  }
}

type Pick = (below: number) => number

const LENGTHS = [0, 1, 3, 7, 8, 65_536, 65_537, 2 ** 23, 2 ** 24 - 1]
const WORDS = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]
const TEXTS = [
  '',
  '{',
  'null',
  '[]',
  '{"Version":',
  '{"Version":7,"ClientId":{},"Extra":[]}',
  '[',
  '['.repeat(5000),
  `{"Version":["3"],"Extra":{"AuthToken":"${'t'.repeat(5000)}"}}`,
  '{"__proto__":{"a":1},"Extra":{"constructor":{}}}',
  '\u0000\uFFFF{"Proto":"http","Opts":null}',
]

const one = <Item>(items: readonly [Item, ...Item[]] | readonly Item[], pick: Pick): Item =>
  items[pick(items.length)] as Item

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

function noise(pick: Pick, most: number): Buffer {
  return Buffer.from(Array.from({ length: pick(most) }, () => pick(256)))
}

function frame(kind: number, id: number, body: Buffer, length = body.length): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  putHeader(header, 0, length, kind, id)
  return Buffer.concat([header, body])
}

/** Opens a stream and sends bytes on it. */
const opening = (pick: Pick, type: number, body: Buffer): Buffer =>
  frame(
    (frameTypes.data << 4) | SYN | one([0, FIN], pick),
    2 * pick(1000) + 1,
    Buffer.concat([word(type), body]),
  )

const kinds: ((pick: Pick) => Buffer)[] = [
  pick => noise(pick, 300),
  pick => frame(pick(256), one(WORDS, pick), noise(pick, 64), one(LENGTHS, pick)),
  pick => frame(pick(256), pick(50), noise(pick, 64)),
  pick => frame(frameTypes.wndinc << 4, one([0, 1, 3, 0x7fff_fffe], pick), word(one(WORDS, pick))),
  pick => frame(frameTypes.rst << 4, pick(50), word(one(WORDS, pick))),
  pick =>
    frame(
      frameTypes.goaway << 4,
      0,
      Buffer.concat([word(one(WORDS, pick)), word(pick(20)), noise(pick, 100)]),
    ),
  pick => opening(pick, one(Object.values(streamTypes), pick), Buffer.from(one(TEXTS, pick))),
  pick => opening(pick, one(WORDS, pick), noise(pick, 100)),
  // A message that is too large, in frames that are not.
  pick => {
    const id = 2 * pick(1000) + 1
    const body = Buffer.alloc(65_536, '"')
    const rest = Array.from({ length: 3 }, () => frame(frameTypes.data << 4, id, body))
    return Buffer.concat([frame((frameTypes.data << 4) | SYN, id, word(streamTypes.auth)), ...rest])
  },
  // The beginning of a frame, and then nothing.
  pick => frame(frameTypes.data << 4, 1, Buffer.alloc(0), 1000).subarray(0, 1 + pick(HEADER_BYTES)),
]

/** Something that no agent sends. */
export const mutant = (pick: Pick): Buffer => one(kinds, pick)(pick)

const SSH_BEGINNINGS = [
  '',
  'SSH-2.0-x\r\n',
  'SSH-1.0-old\r\n',
  'GET / HTTP/1.1\r\n\r\n',
  `SSH-2.0-${'x'.repeat(9000)}`,
]

/** Something that no client of ssh sends. */
export function sshMutant(pick: Pick): Buffer {
  const packet = Buffer.concat([word(one(WORDS, pick)), noise(pick, 200)])
  return Buffer.concat([Buffer.from(one(SSH_BEGINNINGS, pick)), pick(2) === 0 ? packet : noise(pick, 300)])
}
