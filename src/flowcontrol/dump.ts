import type { Admitted, Level } from './levels.ts';

type LevelMap = ReadonlyMap<string, Level>;

const PATH = '/debug/api_priority_and_fairness/';
const LEVEL_COLUMNS =
  'PriorityLevelName ActiveQueues IsIdle IsQuiescing WaitingRequests ExecutingRequests DispatchedRequests RejectedRequests TimedoutRequests CancelledRequests';
const QUEUE_COLUMNS =
  'PriorityLevelName Index PendingRequests ExecutingRequests SeatsInUse NextDispatchR InitialSeatsSum MaxSeatsSum TotalWorkSum';
const REQUEST_COLUMNS =
  'PriorityLevelName FlowSchemaName QueueIndex RequestIndexInQueue FlowDistingsher ArriveTime InitialSeats FinalSeats AdditionalLatency StartTime';
const DETAIL_COLUMNS = 'UserName Verb APIPath Namespace Name APIVersion Resource SubResource';

/** Upstream's dumps of priority and fairness under `/debug`; undefined for other paths. */
export function dumpOf(path: string, query: URLSearchParams, levels: LevelMap): Response | undefined {
  if (!path.startsWith(PATH)) return undefined;
  const make = dumps[path.slice(PATH.length)];
  if (make === undefined) return undefined;
  const details = (query.get('includeRequestDetails') ?? '') !== '';
  return new Response(table(make(levels, details)), { headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
}

const dumps: Readonly<Record<string, (levels: LevelMap, details: boolean) => string[][]>> = {
  dump_priority_levels: levelRows,
  dump_queues: queueRows,
  dump_requests: requestRows,
};

function levelRows(levels: LevelMap): string[][] {
  const rows = [...levels]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, level]) => {
      const { waiting, executing, counts, queues } = level;
      const active = queues?.queues.filter((queue) => queue.waiting.length > 0).length ?? 0;
      const { dispatched, rejected, timedOut, cancelled } = counts;
      const idle = waiting === 0 && executing.size === 0;
      return [name, active, idle, false, waiting, executing.size, dispatched, rejected, timedOut, cancelled].map(
        String,
      );
    });
  return [LEVEL_COLUMNS.split(' '), ...rows];
}

function queueRows(levels: LevelMap): string[][] {
  const rows = [...levels].flatMap(([name, { queues }]) =>
    (queues?.queues ?? []).map(({ waiting, executing, seatsInUse, nextDispatchR }, index) => {
      const seats = waiting.reduce((sum, ticket) => sum + ticket.seats, 0);
      const r = `${nextDispatchR.toFixed(8)}ss`;
      return [name, index, waiting.length, executing, seatsInUse, r, seats, seats, `${(seats * 60).toFixed(8)}ss`].map(
        String,
      );
    }),
  );
  return [QUEUE_COLUMNS.split(' '), ...rows];
}

function requestRows(levels: LevelMap, details: boolean): string[][] {
  const rows = [...levels].flatMap(([, level]) => [
    ...(level.queues?.queues ?? []).flatMap(({ waiting }) =>
      waiting.map((ticket, i) => requestRow(ticket, i, details)),
    ),
    ...[...level.executing].map((ticket) => requestRow(ticket, -1, details)),
  ]);
  return [[...REQUEST_COLUMNS.split(' '), ...(details ? DETAIL_COLUMNS.split(' ') : [])], ...rows];
}

function requestRow(ticket: Admitted, place: number, details: boolean): string[] {
  const { classification, queue, arrived, started, seats, user, info } = ticket;
  const { level, schema, flow } = classification;
  const times = [arrived, started].map((time) =>
    time === undefined ? '0001-01-01T00:00:00Z' : new Date(time).toISOString(),
  );
  const row = [level.name, schema.name, queue, place, flow, times[0], seats, 0, '0s', times[1]].map(String);
  if (!details) return row;
  const version = info.group === '' ? info.version : `${info.group}/${info.version}`;
  return [...row, user.name, info.verb, info.path, info.namespace, info.name, version, info.resource, info.subresource];
}

/** Aligned columns, at least eight wide, as Go's tabwriter sets them. */
function table(rows: string[][]): string {
  const cells = rows.map((row) => row.map((cell, i) => (i < row.length - 1 ? `${cell},` : cell)));
  const widths = cells[0]!.map((_, i) => Math.max(8, ...cells.map((row) => row[i]!.length + 1)));
  const line = (row: string[]) => row.map((cell, i) => (i < row.length - 1 ? cell.padEnd(widths[i]!) : cell)).join('');
  return cells.map((row) => `${line(row)}\n`).join('');
}
