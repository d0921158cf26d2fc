package sqlite

import (
	"context"
	"strconv"
)

// LimitPages makes the disk seem full when the file has so many pages more than
// now; a negative number ends that.
func (s *Store) LimitPages(ctx context.Context, more int64) error {
	return s.runOperation(ctx, func(ctx context.Context, tx *tx) error {
		limit := int64(1 << 30)
		if more >= 0 {
			if err := tx.counted.connection.QueryRowContext(ctx, "PRAGMA page_count").Scan(&limit); err != nil {
				return err
			}
			limit += more
		}
		return tx.counted.connection.QueryRowContext(ctx, "PRAGMA max_page_count = "+strconv.FormatInt(limit, 10)).Scan(&limit)
	})
}
