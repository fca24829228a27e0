import type { FamilySnapshot, Merge, Sample, Snapshot } from '#base/metrics.ts'

/** The media type of `renderMetrics`. */
export const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

/** The Prometheus text format. */
export const renderMetrics = (snapshot: Snapshot): string => snapshot.map(familyText).join('')

/** Merges the values of several processes. */
export function mergeSnapshots(snapshots: readonly Snapshot[]): Snapshot {
  const families = new Map<string, FamilySnapshot>()
  for (const family of snapshots.flat()) {
    const other = families.get(family.name)
    families.set(family.name, other ? mergedFamily(other, family) : family)
  }
  return [...families.values()]
}

function mergedFamily(one: FamilySnapshot, other: FamilySnapshot): FamilySnapshot {
  const samples = new Map<string, Sample>()
  for (const sample of [...one.samples, ...other.samples]) {
    const key = sample.labels.join('\0')
    const known = samples.get(key)
    samples.set(key, known ? mergedSample(one.merge, known, sample) : sample)
  }
  return { ...one, samples: [...samples.values()] }
}

const mergedSample = (merge: Merge, one: Sample, other: Sample): Sample => ({
  labels: one.labels,
  value: merge === 'max' ? Math.max(one.value, other.value) : one.value + other.value,
  counts: one.counts.map((count, at) => count + (other.counts[at] ?? 0)),
})

function familyText(family: FamilySnapshot): string {
  const { name, help, type, samples } = family
  // Some versions of Prometheus treat a metric without a value as an error.
  if (samples.length === 0) return ''
  const lines = samples.flatMap(sample =>
    type === 'histogram'
      ? histogramLines(family, sample)
      : [line(name, labelPairs(family, sample), sample.value)],
  )
  return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function histogramLines(family: FamilySnapshot, sample: Sample): string[] {
  const { name, bounds } = family
  const pairs = labelPairs(family, sample)
  let total = 0
  // Buckets of the text format are cumulative.
  const buckets = sample.counts.map((count, at) => {
    total += count
    const bound = bounds[at]
    const le = `le="${bound === undefined ? '+Inf' : numberText(bound)}"`
    return line(`${name}_bucket`, [...pairs, le], total)
  })
  return [...buckets, line(`${name}_sum`, pairs, sample.value), line(`${name}_count`, pairs, total)]
}

const labelPairs = ({ labels }: FamilySnapshot, sample: Sample): string[] =>
  labels.map((label, at) => `${label}="${escapeLabel(sample.labels[at] ?? '')}"`)

const line = (name: string, pairs: readonly string[], value: number): string =>
  `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${numberText(value)}\n`

function numberText(value: number): string {
  if (value === Infinity) return '+Inf'
  return value === -Infinity ? '-Inf' : String(value)
}

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"')
