import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { connection, reportHeard, reportLost } from "@/api/connection";

beforeEach(() => {
  vi.useFakeTimers();
  reportHeard();
});
afterEach(() => vi.useRealTimers());

it("takes a connection for lost until something asked after that is answered", () => {
  const askedBefore = Date.now();
  vi.advanceTimersByTime(10);
  reportLost();
  reportHeard(askedBefore);
  expect(connection.state).toBe("reconnecting");
  vi.advanceTimersByTime(10_000);
  reportLost();
  reportHeard(askedBefore);
  expect(connection.state).toBe("stale");
  reportHeard(Date.now());
  expect(connection.state).toBe("live");
});
