-- Read by the test of every verb.
INSERT INTO t VALUES (1); INSERT INTO t
VALUES ('a;b');
CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t WHERE x = 1; END;
UPDATE t SET x = x || '!';
